import { additionalOf, type OpenApiSchema, propertyOf } from "../open-api-schema.ts";

const escapes: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "'": "'",
  "\\": "\\",
};

/** Parses the field path of a rule: `.spec.name` or `.labels['a.b']`. Undefined if the schema has no such field. */
export function parseFieldPath(text: string, schema: OpenApiSchema): string | undefined {
  const tokens = text.match(/'(?:[^'\\]|\\.)*'|[.[\]]|[^.[\]]+/gs) ?? [];
  let current: OpenApiSchema | undefined = schema;
  let path = "";
  for (let i = 0; i < tokens.length; i++) {
    const open = tokens[i];
    let name: string | undefined;
    if (open === ".") name = tokens[++i];
    else if (open === "[") {
      name = unquote(tokens[++i]);
      if (tokens[++i] !== "]") return undefined;
    }
    if (name === undefined || !current) return undefined;
    const isNamed: boolean = current.properties !== undefined;
    path += isNamed ? (path === "" ? name : `.${name}`) : `[${name}]`;
    current = isNamed ? propertyOf(current, name) : additionalOf(current);
    if (!current) return undefined;
  }
  return path;
}

function unquote(token: string | undefined): string | undefined {
  if (!token || token.length < 2 || !token.startsWith("'") || !token.endsWith("'")) return undefined;
  let isValid = true;
  const text = token.slice(1, -1).replace(/\\(.)/gs, (_, character: string) => {
    const unescaped = escapes[character];
    isValid &&= unescaped !== undefined;
    return unescaped ?? "";
  });
  return isValid ? text : undefined;
}

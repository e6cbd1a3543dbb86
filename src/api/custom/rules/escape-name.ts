/** Words that cannot be field names in an expression. */
const reserved = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

const escapes: Readonly<Record<string, string>> = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
};
const originals = new Map(Object.entries(escapes).map(([original, escaped]) => [escaped, original]));

/** Name of a property in expressions. Undefined for a property that expressions cannot name. */
export function escapeName(name: string): string | undefined {
  if (name === "" || /^[0-9]/.test(name) || !/^[a-zA-Z0-9_./-]*$/.test(name)) return undefined;
  if (reserved.has(name)) return `__${name}__`;
  return name.replace(/__|[-./]/g, (part) => escapes[part] ?? part);
}

/** Property that an escaped name stands for. Undefined for a name that is no escaped name. */
export function unescapeName(escaped: string): string | undefined {
  let isValid = true;
  const name = escaped.replace(/__[^_]+__/g, (part) => {
    const original = originals.get(part);
    if (original !== undefined) return original;
    const word = part.slice(2, -2);
    isValid &&= reserved.has(word) && part.length === escaped.length;
    return word;
  });
  return isValid ? name : undefined;
}

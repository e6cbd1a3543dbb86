// Writes src/api/generated/schema.json (fields of each definition with their types) and descriptions.json (upstream's
// documentation) from the models of @kubernetes/client-node. Contains only definitions that the served kinds use.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import {
  coreDefinitions,
  looseFields,
  metaDefinitions,
  pointerFields,
  quantityFields,
  unstoredKinds,
  valueFields,
} from "./schema-facts.mjs";

const modelsDir = "node_modules/@kubernetes/client-node/dist/gen/models";
const outDir = "src/api/generated";

const scalars = {
  boolean: "bool",
  Date: "time",
  V1MicroTime: "microTime",
  IntOrString: "intOrString",
  any: "json",
};

const definitions = {};
const descriptions = {};
const nameOfClass = new Map();

const { builtInKinds } = await importTypeScript("src/api/kinds/built-in-kinds.ts");
const kinds = [
  ...builtInKinds.flatMap(({ resource: { group, version, kind } }) => [
    { group, version, kind },
    { group, version, kind: `${kind}List` },
  ]),
  ...Object.entries(unstoredKinds).flatMap(([group, list]) =>
    list.map((kind) => ({ group, version: "v1", kind })),
  ),
];
// A definition belongs to the first group that uses it. The core group comes first, because all others refer to it.
kinds.sort((a, b) => Number(a.group !== "") - Number(b.group !== ""));
for (const name of ["V1Status", "V1DeleteOptions"]) define(name, "meta");
for (const { group, version, kind } of kinds) {
  const owner = group.split(".")[0] || "core";
  const model = capitalized(version) + kind;
  // If two groups have a model with the same name, the model's name contains the group.
  const ownModel = capitalized(owner) + model;
  const name = define(existsSync(`${modelsDir}/${ownModel}.js`) ? ownModel : model, owner);
  definitions[name].kind = { group, version, kind };
}

mkdirSync(outDir, { recursive: true });
writeFileSync(`${outDir}/schema.json`, JSON.stringify(sorted(definitions)));
writeFileSync(`${outDir}/descriptions.json`, JSON.stringify(sorted(descriptions)));

/** Adds the definition of a model class and all definitions that it refers to. Returns its name: `core.v1.Pod`. */
function define(className, owner) {
  const known = nameOfClass.get(className);
  if (known) return known;
  const [, prefix, version, kind] = /^([A-Z][a-z]+)?(V\d+(?:alpha\d+|beta\d+)?)(.+)$/.exec(className) ?? [];
  if (!kind) throw new Error(`${className} does not look like a model`);
  const group = prefix?.toLowerCase() ?? groupOf(kind, owner);
  const name = `${group}.${version.toLowerCase()}.${kind}`;
  nameOfClass.set(className, name);

  const model = readModel(className);
  const definition = { fields: {}, ...(model.required.length > 0 && { required: model.required }) };
  definitions[name] = definition;
  descriptions[name] = model.descriptions;
  for (const { baseName, type, format } of model.attributes) {
    const special = quantityFields.has(`${name} ${baseName}`) ? "quantity" : format;
    definition.fields[baseName] = looseFields.has(`${name} ${baseName}`)
      ? `?${name}`
      : baseName === "fieldsV1"
        ? "fieldsV1"
        : typeOf(type, special, (refersTo) => define(refersTo, owner));
  }
  const kept = Object.keys(definition.fields).filter((baseName) => isKept(name, baseName));
  if (kept.length > 0) definition.kept = kept;
  return name;
}

function groupOf(kind, owner) {
  if (metaDefinitions.has(kind)) return "meta";
  return coreDefinitions.has(kind) ? "core" : owner;
}

function isKept(name, baseName) {
  const field = `${name} ${baseName}`;
  const isRef = definitions[name].fields[baseName].includes(".");
  return (
    pointerFields.has(field) ||
    valueFields.has(field) ||
    (isRef && ["metadata", "spec", "status"].includes(baseName))
  );
}

/** Type in the notation of schema.json: a scalar, `[]T`, `{}T` or the name of a definition. */
function typeOf(type, format, define) {
  const element = /^Array<(.*)>$/.exec(type)?.[1];
  if (element) return `[]${typeOf(element, format, define)}`;
  const value = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (value) return `{}${typeOf(value, format, define)}`;
  if (type === "string") return { "": "string", byte: "bytes", quantity: "quantity" }[format];
  if (type === "number" && ["int32", "int64", "double"].includes(format)) return format;
  if (type in scalars) return scalars[type];
  return define(type);
}

/** Reads the attribute table of the compiled class and the doc comments and optional markers of its declaration. */
function readModel(className) {
  const source = readFileSync(`${modelsDir}/${className}.js`, "utf8");
  const declaration = readFileSync(`${modelsDir}/${className}.d.ts`, "utf8");
  const attributes = JSON.parse(/attributeTypeMap = (\[[\s\S]*?\n?\]);/.exec(source)[1]);
  const comment = String.raw`(?:/\*\*\s*\* ([^\n]*)\s*\*/\s*)?`;
  const about = new RegExp(`${comment}export declare class`).exec(declaration)?.[1];
  const model = { attributes, required: [], descriptions: about ? { "": unescaped(about) } : {} };
  for (const { name, baseName } of attributes) {
    const field = new RegExp(`${comment}'${name.replaceAll("$", "\\$")}'(\\??):`).exec(declaration);
    if (!field) throw new Error(`${className}.${name} is not declared`);
    if (field[1]) model.descriptions[baseName] = unescaped(field[1]);
    if (field[2] === "") model.required.push(baseName);
  }
  return model;
}

function unescaped(text) {
  return text.replace(/\\(['"\\])/g, "$1").trim();
}

function capitalized(word) {
  return word[0].toUpperCase() + word.slice(1);
}

function sorted(record) {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Bundles and imports a module, with empty files in place of those that this script generates. */
async function importTypeScript(path) {
  const emptyGenerated = {
    name: "empty-generated",
    setup: ({ onLoad }) =>
      onLoad({ filter: /api\/generated\/.*\.json$/ }, () => ({ contents: "{}", loader: "json" })),
  };
  const resolveGenerated = {
    name: "resolve-generated",
    setup: ({ onResolve }) =>
      onResolve({ filter: /generated\/.*\.json$/ }, ({ path: file, resolveDir }) => ({
        path: join(resolveDir, file),
      })),
  };
  const { outputFiles } = await build({
    entryPoints: [path],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    plugins: [resolveGenerated, emptyGenerated],
  });
  const bundle = join(mkdtempSync(join(tmpdir(), "kindling-schema-")), "kinds.mjs");
  writeFileSync(bundle, outputFiles[0].contents);
  try {
    return await import(pathToFileURL(bundle).href);
  } finally {
    rmSync(dirname(bundle), { recursive: true });
  }
}

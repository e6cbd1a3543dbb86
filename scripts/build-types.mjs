// Writes the type declarations of the package entry, src/testing/start-cluster.ts: the modules that it imports, and one
// file with the Kubernetes types that they use, so that consumers need no other package.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";

const entry = "testing/start-cluster.d.ts";
const kubernetes = "kubernetes.d.ts";
const modelsDir = "node_modules/@kubernetes/client-node/dist/gen/models";
/** Types of the models that are not models themselves. src/api/meta/objects.ts converts Date to string. */
const scalars = { IntOrString: "number | string", V1MicroTime: "Date" };

export function buildTypes(outDir) {
  const emitted = mkdtempSync(join(tmpdir(), "kindling-types-"));
  try {
    execFileSync(
      process.execPath,
      ["node_modules/typescript/bin/tsc", "-p", "tsconfig.types.json", "--outDir", emitted],
      {
        stdio: ["ignore", "inherit", "inherit"],
      },
    );
    const models = new Set();
    copyReached(emitted, outDir, models);
    write(join(outDir, kubernetes), formatModels(models));
  } finally {
    rmSync(emitted, { recursive: true, force: true });
  }
}

/** Copies the entry and its imports, with paths that consumers can resolve, and collects the models that they use. */
function copyReached(from, outDir, models) {
  const seen = new Set([entry]);
  for (const file of seen) {
    const text = readFileSync(join(from, file), "utf8");
    for (const [, name] of text.matchAll(/\bk8s\.(\w+)/g)) models.add(name);
    const toKubernetes = relative(dirname(file), "kubernetes.js");
    const rewritten = text
      .replace(/(from |import\()"(\.[^"]+)\.ts"/g, (_all, keyword, path) => {
        seen.add(join(dirname(file), `${path}.d.ts`));
        return `${keyword}"${path}.js"`;
      })
      .replace('"@kubernetes/client-node"', `"${toKubernetes}"`);
    // Types of `await using` and `using`, independent of the consumer's settings.
    const head = file === entry ? '/// <reference lib="esnext.disposable" />\n' : "";
    write(join(outDir, file), head + rewritten);
  }
}

function formatModels(models) {
  const parts = [];
  for (const name of models) {
    if (name in scalars) {
      parts.push(`export type ${name} = ${scalars[name]};\n`);
      continue;
    }
    const path = join(modelsDir, `${name}.d.ts`);
    if (!existsSync(path)) throw new Error(`there is no model ${name} in ${modelsDir}`);
    const text = readFileSync(path, "utf8");
    for (const [, imported] of text.matchAll(/^import \{ (\w+) \}/gm)) models.add(imported);
    const [, doc = "", body = ""] =
      /(\/\*\*[^/]*?\*\/\n)?export declare class \w+ \{\n([\s\S]*?)\n? {4}static readonly discriminator/.exec(
        text,
      ) ?? [];
    if (!body) throw new Error(`${path} is not written as expected`);
    parts.push(`${doc}export interface ${name} {\n${body}\n}\n`);
  }
  return parts.join("");
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

if (resolve(process.argv[1] ?? "") === import.meta.filename) buildTypes(process.argv[2] ?? "dist/types");

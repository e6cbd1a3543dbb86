// Runs dependency-cruiser over src/. Also fails if it has read fewer modules or imports than exist: with an
// incompatible parser it silently reads nothing and reports no violation.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cruise } from "dependency-cruiser";
import rules from "../.dependency-cruiser.mjs";

const onDisk = readdirSync("src", { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
  .map((entry) => join(entry.parentPath, entry.name));
const importing = onDisk.filter((file) => /^(import|export) .*from "/m.test(readFileSync(file, "utf8")));

const { output } = await cruise(["src"], { ...rules.options, ruleSet: rules, validate: true });
const read = new Map(output.modules.map((module) => [module.source, module]));
const unread = onDisk.filter((file) => !read.has(file));
const importsUnseen = importing.filter((file) => (read.get(file)?.dependencies.length ?? 0) === 0);

// Only types of @kubernetes/client-node may be imported. The parser does not always recognize type imports, so this is
// checked on the source text.
const loadsClientNode = onDisk
  .filter((file) => !file.endsWith(".test.ts"))
  .filter((file) => /^import (?!type )[^;]*"@kubernetes\/client-node"/m.test(readFileSync(file, "utf8")));

for (const { rule, from, to } of output.summary.violations) console.error(`${rule.name}: ${from} -> ${to}`);
for (const file of unread) console.error(`not read: ${file}`);
for (const file of importsUnseen) console.error(`imports not seen: ${file}`);

for (const file of loadsClientNode)
  console.error(`imports more than types of @kubernetes/client-node: ${file}`);

const failures =
  output.summary.violations.length + unread.length + importsUnseen.length + loadsClientNode.length;
console.log(
  `layers: ${onDisk.length - unread.length} of ${onDisk.length} modules read, ${failures} failures`,
);
process.exitCode = failures === 0 && onDisk.length > 0 ? 0 : 1;

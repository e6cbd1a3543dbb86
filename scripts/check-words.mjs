// Fails on words that plain technical English does not need: they hide the subject of a sentence, or personify code.
// CONTRIBUTING.md has the glossary. Checked are comments, messages, test titles and docs.
// `node scripts/check-words.mjs FOLDER…` checks only files below these folders.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const words = [
  "nobody",
  "somebody",
  "whoever",
  "told",
  "tells?",
  "hears?",
  "heard",
  "dawdl(?:es?|ed|ing)",
  "anew",
  "mend(?:s|ed)?",
  "bur(?:y|ies|ied)",
  "hurr(?:y|ies|ied)",
  "unless told",
  "once more",
  "heals?",
  "healed",
  "lends?",
  "lent",
  "doors?",
  "of (?:its|their) own(?! [a-z])",
  "as (?:it was|they were)",
  "by (?:itself|themselves)",
  "as one likes",
  "in vain",
];
const forbidden = new RegExp(`\\b(?:${words.join("|")})\\b`, "i");

/** Lines that use such a word because a proposal, upstream or a protocol fixes the text. */
const allowed = [
  // The service account user of upstream's images.
  /\bUSER nobody\b|nobody:|"nobody"|'nobody'|user nobody|65534/,
  // A row of the glossary, which names the word that it replaces.
  /function that serves a request \| door/,
];

const ignored = [
  /\/generated\//,
  /^package-lock\.json$/,
  /^LICENSE$/,
  /^scripts\/check-words\.mjs$/,
  /^CHANGELOG\.md$/,
];
const folders = process.argv.slice(2);
const files = execFileSync("git", ["ls-files"], { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 })
  .split("\n")
  .filter((file) => /\.(ts|tsx|mjs|md|sh|css|html)$/.test(file) || file === ".ci/run")
  .filter((file) => !ignored.some((pattern) => pattern.test(file)))
  .filter((file) => folders.length === 0 || folders.some((folder) => file.startsWith(folder)));

let failures = 0;
for (const file of files) {
  for (const [index, line] of readFileSync(file, "utf8").split("\n").entries()) {
    const word = forbidden.exec(line)?.[0];
    if (word === undefined || allowed.some((pattern) => pattern.test(line))) continue;
    failures++;
    console.error(`${file}:${index + 1}: "${word}": ${line.trim().slice(0, 120)}`);
  }
}
console.log(`words: ${files.length} files checked, ${failures} failures`);
process.exitCode = failures === 0 ? 0 : 1;

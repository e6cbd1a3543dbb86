import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const sections = readFileSync("docs/pod-startup.md", "utf8").split(/^## /m).slice(1);

/** Distinct source files that sections name, by the first digits of their titles. */
function filesIn(numbers: string): Set<string> {
  const text = sections.filter(([digit = ""]) => numbers.includes(digit)).join("");
  return new Set([...text.matchAll(/`([\w/-]+\.ts)(?:#\w+)?`/g)].map(([, file = ""]) => file));
}

test.each([
  { path: "kindling up to running parts", numbers: "0", max: 6 },
  { path: "POST to Ready", numbers: "1234", max: 45 },
  { path: "a StatefulSet rollout", numbers: "7", max: 10 },
])("docs/pod-startup.md follows $path through at most $max files", ({ numbers, max }) => {
  const files = filesIn(numbers);
  expect(files.size).toBeGreaterThan(0);
  expect(files.size).toBeLessThanOrEqual(max);
});

import { readFile } from "node:fs/promises";
import { homedir, hostname } from "node:os";
import { expect, test } from "vitest";
import { configurationReference } from "../../src/cli/configuration-reference.ts";

test("docs/configuration.md is up to date: node scripts/generate-configuration-reference.mjs", async () => {
  expect(await readFile("docs/configuration.md", "utf8")).toBe(await configurationReference());
});

test("contains no values of this machine", async () => {
  const text = await configurationReference();
  expect(text).not.toContain(`${homedir()}/`);
  expect(text).not.toContain(`\`${hostname()}\``);
});

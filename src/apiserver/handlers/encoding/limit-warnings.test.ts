import { expect, test } from "vitest";
import { limitWarnings } from "./encode.ts";

const long = (letter: string) => letter.repeat(3_000);

test.each([
  { name: "nothing", warnings: [], kept: [] },
  { name: "each once", warnings: ["a", "b", "a", ""], kept: ["a", "b"] },
  { name: "a single long warning, not truncated", warnings: [long("a")], kept: [long("a")] },
  {
    name: "several long ones cut",
    warnings: [long("a"), long("b")],
    kept: ["a".repeat(256), "b".repeat(256)],
  },
])("$name", ({ warnings, kept }) => {
  expect(limitWarnings(warnings)).toEqual(kept);
});

test("keeps the first of very many warnings", () => {
  const kept = limitWarnings(Array.from({ length: 10_000 }, (_, i) => `warning ${i}`));
  expect(kept.join("").length).toBeLessThan(5_000);
  expect(kept[0]).toBe("warning 0");
});

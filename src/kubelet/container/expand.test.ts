import { describe, expect, test } from "vitest";
import { createExpand } from "./expand.ts";

const values = new Map([
  ["A", "a"],
  ["B", "$(A)"],
  ["EMPTY", ""],
  ["a.b-c d", "odd"],
]);
const lookUp = (name: string) => values.get(name);

describe("expand", () => {
  test.each([
    ["plain", "plain"],
    ["", ""],
    ["$(A)", "a"],
    ["x$(A)y$(A)z", "xayaz"],
    ["$(B)", "$(A)"],
    ["$(EMPTY)|", "|"],
    ["$(a.b-c d)", "odd"],
    ["$(UNKNOWN)", "$(UNKNOWN)"],
    ["$$(A)", "$(A)"],
    ["$$$(A)", "$a"],
    ["$$$$(A)", "$$(A)"],
    ["$A", "$A"],
    ["$", "$"],
    ["A$", "A$"],
    ["$(", "$("],
    ["$(A", "$(A"],
    ["$($(A)", "$($(A)"],
    ["$()", "$()"],
    ["$(A)$(", "a$("],
    ["$(A))", "a)"],
    ["f$(A)é", "faé"],
  ])("%j is %j", (text, expanded) => {
    expect(createExpand()(text, lookUp)).toBe(expanded);
  });

  test("growth has a limit", () => {
    const expand = createExpand();
    let value = "x".repeat(1_000);
    const grow = () => {
      for (let i = 0; i < 64; i++) value = expand("$(V)$(V)", () => value);
    };
    expect(grow).toThrow("grow beyond 8388608 bytes");
  });

  test("many openers without a closer are read in one go", () => {
    const text = "$(".repeat(500_000);
    expect(createExpand()(text, lookUp)).toBe(text);
  });
});

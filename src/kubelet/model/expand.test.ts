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

  test("limits the length of the result", () => {
    const expand = createExpand();
    let value = "x".repeat(1_000);
    const grow = () => {
      for (let i = 0; i < 64; i++) value = expand("$(V)$(V)", () => value);
    };
    expect(grow).toThrow("expanded variables exceed 8388608 bytes");
  });

  test("handles many unclosed references in linear time", () => {
    const text = "$(".repeat(500_000);
    expect(createExpand()(text, lookUp)).toBe(text);
  });
});

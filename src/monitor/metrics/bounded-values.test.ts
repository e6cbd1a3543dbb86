import { expect, test } from "vitest";
import { createBoundedValues } from "./bounded-values.ts";

test("3085-12: values beyond the limit fold into other, those before it stay", () => {
  const { admit } = createBoundedValues(2);
  expect(["a", "b", "c", "a", "d", "b"].map(admit)).toEqual(["a", "b", "other", "a", "other", "b"]);
});

test("a limit of none lets nothing through", () => {
  expect(createBoundedValues(0).admit("a")).toBe("other");
});

test.each([
  ["a long one is cut", "x".repeat(100_000), "x".repeat(128)],
  ["half a character becomes a whole one", "a\ud800", "a\ufffd"],
  ["a character on the edge is not left in half", `${"x".repeat(127)}😀`, `${"x".repeat(127)}\ufffd`],
])("%s", (_, value, shown) => {
  expect(createBoundedValues(1).admit(value)).toBe(shown);
});

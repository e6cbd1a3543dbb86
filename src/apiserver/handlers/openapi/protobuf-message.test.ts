import { describe, expect, test } from "vitest";
import { type Message, message, toBuffer } from "./encode-open-api-v2.ts";

describe("message", () => {
  test.each<[string, Message, string]>([
    ["nothing", message(), ""],
    ["empty values", message([1, ""], [2, false], [3, undefined], [4, []]), ""],
    ["text", message([1, "ab"]), "0a026162"],
    ["text beyond ASCII", message([1, "é"]), "0a02c3a9"],
    ["a flag", message([4, true]), "2001"],
    ["a large field number", message([31, "a"]), "fa010161"],
    ["repeated text", message([2, ["a", "b"]]), "120161120162"],
    ["a message", message([1, message([1, "a"])]), "0a030a0161"],
    ["an empty message", message([1, message()]), "0a00"],
  ])("%s", (_, encoded, hex) => {
    expect(toBuffer(encoded).toString("hex")).toBe(hex);
  });

  test("long values", () => {
    const bytes = toBuffer(message([1, "x".repeat(300)]));
    expect(bytes.subarray(0, 3).toString("hex")).toBe("0aac02");
    expect(bytes).toHaveLength(303);
  });
});

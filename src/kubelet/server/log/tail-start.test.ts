import { expect, test } from "vitest";
import { findTailStart, type ReadableFile } from "./tail-start.ts";

const fileOf = (content: Buffer): ReadableFile => ({
  read: async (buffer, offset, length, position) => ({
    bytesRead: content.copy(buffer, offset, position, position + length),
  }),
});
const tail = async (text: string, lines: number) => {
  const content = Buffer.from(text);
  return text.slice(await findTailStart(fileOf(content), content.length, lines));
};

test.each([
  ["a\nb\nc\n", 2, "b\nc\n"],
  ["a\nb\nc\n", 0, ""],
  ["a\nb\nc\n", 3, "a\nb\nc\n"],
  ["a\nb\nc\n", 9, "a\nb\nc\n"],
  ["a\nb\nunfinished", 1, "b\nunfinished"],
  ["", 5, ""],
])("%j by %i", async (text, lines, expected) => {
  expect(await tail(text, lines)).toBe(expected);
});

test("lines longer than what is read at once", async () => {
  const long = `${"x".repeat(40_000)}\n`;
  expect(await tail(`first\n${long}${long}`, 1)).toBe(long);
  expect(await tail(`first\n${long}${long}`, 2)).toBe(long + long);
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCriLogLines, maxLineBytes } from "./log-lines.ts";

const write = (chunks: string[]) => {
  const lines = createCriLogLines("stdout");
  return [...chunks.map((chunk) => lines.push(Buffer.from(chunk), "T")), lines.end("T")].join("");
};

describe("createCriLogLines", () => {
  it.each([
    [["a\n"], "T stdout F a\n"],
    [["a\nb\n"], "T stdout F a\nT stdout F b\n"],
    [["a", "b\n"], "T stdout F ab\n"],
    [["\n"], "T stdout F \n"],
    [["no end"], "T stdout F no end\n"],
    [[], ""],
  ])("%j", (chunks, expected) => {
    expect(write(chunks)).toBe(expected);
  });

  it("splits only lines above the maximum length", () => {
    const full = "x".repeat(maxLineBytes);
    expect(write([`${full}\n`])).toBe(`T stdout F ${full}\n`);
    expect(write([`${full}y\n`])).toBe(`T stdout P ${full}\nT stdout F y\n`);
  });

  it("keeps all bytes for any chunking", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 50 })), (chunks) => {
        const text = chunks.join("");
        const lines = write(chunks).split("\n").slice(0, -1);
        const content = lines.map((line) => line.slice("T stdout F ".length)).join("\n");
        expect(content).toBe(text.replace(/\n$/, ""));
      }),
    );
  });
});

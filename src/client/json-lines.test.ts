import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readJsonLines } from "./json-lines.ts";

async function* cut(text: string, chunkBytes: number) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

async function readAll(text: string, chunkBytes: number): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const value of readJsonLines(cut(text, chunkBytes))) values.push(value);
  return values;
}

describe("readJsonLines", () => {
  test("reads each line, however the bytes are cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: "binary" })),
        fc.integer({ min: 1, max: 20 }),
        async (values, chunkBytes) => {
          const text = values.map((value) => `${JSON.stringify(value)}\n`).join("");
          expect(await readAll(text, chunkBytes)).toEqual(values);
        },
      ),
    );
  });

  test("passes over empty lines", async () => {
    expect(await readAll("\n1\r\n\n2\n", 2)).toEqual([1, 2]);
  });

  test("hands out a line before the next one comes", async () => {
    async function* endless() {
      yield Buffer.from("1\n2");
      await new Promise(() => {});
    }
    const first = await readJsonLines(endless()).next();
    expect(first.value).toBe(1);
  });

  test("refuses a line that never ends", async () => {
    const chunk = Buffer.alloc(8 * 1_024 * 1_024, "x");
    async function* endless() {
      for (;;) yield chunk;
    }
    await expect(readJsonLines(endless()).next()).rejects.toThrow("an event that never ends");
  });
});

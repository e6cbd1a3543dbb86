import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rounds } from "../../../test/support/fuzz/rounds.ts";
import { readJsonLines, readList } from "./stream-json.ts";

async function* cut(text: string, chunkBytes: number) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

describe("readList", () => {
  const item = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue());
  const part = fc.jsonValue();

  test("parses like JSON.parse for any chunking, formatting and key order", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(item),
        fc.tuple(part, part),
        fc.record({
          chunkBytes: fc.integer({ min: 1, max: 40 }),
          indent: fc.constantFrom(0, 2),
          last: fc.boolean(),
        }),
        async (items, [before, after], { chunkBytes, indent, last }) => {
          const list = last
            ? { before, kind: "items", after, items }
            : { before, kind: "items", items, after };
          const read = await readList(cut(JSON.stringify(list, null, indent), chunkBytes));
          // Through JSON text, which has no -0.
          expect(read.items).toEqual(JSON.parse(JSON.stringify(items)));
          expect(read.envelope).toEqual(JSON.parse(JSON.stringify({ ...list, items: [] })));
        },
      ),
      { numRuns: rounds(30) },
    );
  });

  test.each(['{"items":[{"a":1}', '{"items":[{"a":}]}', "nonsense", ""])("rejects %j", async (text) => {
    await expect(readList(cut(text, 3))).rejects.toThrow("the server's response is not JSON");
  });

  test("accepts a list without items, and items that are null", async () => {
    expect(await readList(cut('{"metadata":{}}', 4))).toEqual({ envelope: { metadata: {} }, items: [] });
    expect((await readList(cut('{"items":null,"x":[{}]}', 4))).items).toEqual([]);
  });
});

async function readAll(text: string, chunkBytes: number): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const value of readJsonLines(cut(text, chunkBytes))) values.push(value);
  return values;
}

describe("readJsonLines", () => {
  test("parses each line for any chunking", async () => {
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

  test("ignores empty lines", async () => {
    expect(await readAll("\n1\r\n\n2\n", 2)).toEqual([1, 2]);
  });

  test("yields a line before the next one arrives", async () => {
    async function* endless() {
      yield Buffer.from("1\n2");
      await new Promise(() => {});
    }
    const first = await readJsonLines(endless()).next();
    expect(first.value).toBe(1);
  });

  test("rejects a line above the size limit", async () => {
    const chunk = Buffer.alloc(8 * 1_024 * 1_024, "x");
    async function* endless() {
      for (;;) yield chunk;
    }
    await expect(readJsonLines(endless()).next()).rejects.toThrow("a watch event larger than 64 MiB");
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readList } from "./read-list.ts";

async function* cut(text: string, chunkBytes: number) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

describe("readList", () => {
  const item = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue());
  const part = fc.jsonValue();

  test("reads what JSON.parse would, however it is cut, formatted and ordered", async () => {
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
          // Through text: it has no -0.
          expect(read.items).toEqual(JSON.parse(JSON.stringify(items)));
          expect(read.envelope).toEqual(JSON.parse(JSON.stringify({ ...list, items: [] })));
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each(['{"items":[{"a":1}', '{"items":[{"a":}]}', "nonsense", ""])("refuses %j", async (text) => {
    await expect(readList(cut(text, 3))).rejects.toThrow("the server's answer is not JSON");
  });

  test("takes a list without items, and items that are null", async () => {
    expect(await readList(cut('{"metadata":{}}', 4))).toEqual({ envelope: { metadata: {} }, items: [] });
    expect((await readList(cut('{"items":null,"x":[{}]}', 4))).items).toEqual([]);
  });
});

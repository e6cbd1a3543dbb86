import { expect, test } from "vitest";
import { configMapKind } from "../../../api/kinds/core/config-map/kind.ts";
import { CachedObject, cachedKind, encodeStored } from "../../storage/cached-object.ts";
import { createListBody } from "./list-body.ts";

const kind = cachedKind(configMapKind.resource);

function configMap(name: string, text: string): CachedObject {
  const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { name }, data: { text } };
  return new CachedObject(kind, { key: name, value: Buffer.from(encodeStored(object)), revision: 7 });
}

const short = (count: number) =>
  Array.from({ length: count }, (_, i) => configMap(`s${i}`, "ä".repeat(10_000)));
const long = (name: string) => configMap(name, "x".repeat(100_000));

test.each([
  ["no objects", []],
  ["a short object", short(1)],
  ["many short objects", short(20)],
  ["a long object", [long("a")]],
  ["long objects only", [long("a"), long("b"), long("c")]],
  ["long and short ones", [...short(3), long("a"), ...short(2), long("b"), long("c"), ...short(9)]],
])("a body of %s is the JSON of the list, and as long as it says", (_, items) => {
  const body = createListBody('{"items":[', items);
  const bytes = Buffer.concat([...body.pieces()]);
  expect(JSON.parse(bytes.toString())).toEqual({ items: items.map((item) => item.parse()) });
  expect(body.byteLength).toBe(bytes.length);
});

test("readers at the same position share the bytes", () => {
  const items = [...short(20), long("a")];
  const body = createListBody("[", items);
  const first = [...body.pieces()];
  const second = [...body.pieces()];
  expect(first.length).toBeGreaterThan(4);
  for (const [i, piece] of first.slice(1, -1).entries()) expect(second[i + 1]).toBe(piece);
});

test("lists of different revisions share the bytes of a long object", () => {
  const object = long("a");
  const pieces = [createListBody("[1", [object]), createListBody("[2", [object])].map(
    (body) => [...body.pieces()][1],
  );
  expect(pieces[0]).toBe(pieces[1]);
});

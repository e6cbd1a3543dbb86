import { expect, test } from "vitest";
import { parsePulls } from "./pull-reader.ts";

const pull = { container: "c", image: "web:1", startedAt: "2026-01-01T00:00:00Z", offset: 1, total: 2 };
const layer = { offset: 1, total: 2, stage: "waiting" };

test.each<[string, unknown, unknown]>([
  [
    "a pull with its layers",
    { pulls: [{ ...pull, layers: [{ ...layer, digest: "sha256:a" }] }] },
    [{ ...pull, layers: [{ ...layer, layer: "sha256:a" }] }],
  ],
  ["a queued pull", { pulls: [{ ...pull, queued: true }] }, [{ ...pull, layers: [], queued: true }]],
  [
    "one of two tags",
    { pulls: [{ ...pull, oneOf: ["web:1", "web:2"] }] },
    [{ ...pull, layers: [], oneOf: ["web:1", "web:2"] }],
  ],
  [
    "fields of other types",
    {
      pulls: [{ ...pull, offset: -1, total: "2", image: 1, queued: "true", oneOf: "web:1", layers: {} }, "x"],
    },
    [{ ...pull, offset: 0, total: 0, image: "", layers: [] }],
  ],
  ["no list", { pulls: "x" }, []],
  ["no object", null, []],
])("3542-14 reads %s", (_name, body, expected) => expect(parsePulls(body)).toEqual(expected));

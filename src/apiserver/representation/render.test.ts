import { describe, expect, test } from "vitest";
import { findResource, type Resource } from "../../api/resources.ts";
import { CachedObject, cachedKind } from "../cache/cached-object.ts";
import { encodeStored } from "../registry/stored-object.ts";
import { plainObject, type RenderOptions, render } from "./render.ts";

const resource = findResource("", "v1", "configmaps") as Resource;
const kind = cachedKind(resource);

function configMap(name: string, text: string): CachedObject {
  const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { name }, data: { text } };
  return new CachedObject(kind, { key: name, value: Buffer.from(encodeStored(object)), revision: 7 });
}

const options: RenderOptions = {
  resource,
  representation: { format: "json", as: "object", metaVersion: "v1", pretty: false },
  includeObject: "Metadata",
  pretty: false,
  now: 0,
};

describe("plain JSON", () => {
  const texts = ["plain", "ünïcödé, 日本 and 🎉", "latin1 only: é", ""];

  test.each([{ count: 0 }, { count: 1 }, { count: texts.length }])(
    "of a list of $count",
    async ({ count }) => {
      const items = texts.slice(0, count).map((text, i) => configMap(`c${i}`, text));
      const { body } = await render({ kind: "list", items, revision: 9 }, options);
      expect(JSON.parse(body.toString())).toEqual({
        kind: "ConfigMapList",
        apiVersion: "v1",
        metadata: { resourceVersion: "9" },
        items: items.map((item) => item.parse()),
      });
    },
  );

  test.each(texts)("of an object knows its length in bytes: %j", (text) => {
    const { body, bodyBytes } = plainObject(configMap("c", text), resource);
    expect(bodyBytes).toBe(Buffer.byteLength(body));
  });
});

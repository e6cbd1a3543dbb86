import { describe, expect, test } from "vitest";
import { configMapKind } from "../../../api/kinds/core/config-map/kind.ts";
import { byteLengthOf, wholeBody } from "../../request/api-request.ts";
import { CachedObject, cachedKind, encodeStored } from "../../storage/cached-object.ts";
import { plainObject, type RenderOptions, render } from "./render.ts";

const { resource } = configMapKind;
const kind = cachedKind(resource);

function configMap(name: string, text: string): CachedObject {
  const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { name }, data: { text } };
  return new CachedObject(kind, { key: name, value: Buffer.from(encodeStored(object)), revision: 7 });
}

const options: RenderOptions = {
  resource,
  layout: configMapKind,
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
      expect(JSON.parse(wholeBody(body).toString())).toEqual({
        kind: "ConfigMapList",
        apiVersion: "v1",
        metadata: { resourceVersion: "9" },
        items: items.map((item) => item.parse()),
      });
    },
  );

  test.each(texts)("of an object knows its length in bytes: %j", (text) => {
    const { body, bodyBytes } = plainObject(configMap("c", text), resource);
    expect(bodyBytes).toBe(byteLengthOf(body));
  });
});

describe("a list", () => {
  const response = {
    kind: "list",
    items: [configMap("a", ""), configMap("b", "")],
    revision: 9,
  } as const;
  const table: RenderOptions = { ...options, representation: { ...options.representation, as: "table" } };

  test.each([
    ["JSON", options],
    ["indented JSON", { ...options, pretty: true }],
    ["YAML", { ...options, representation: { ...options.representation, format: "yaml" } }],
    ["a table", table],
  ] as const)("is encoded once for all requests for it as %s", async (_, form) => {
    const { body } = await render(response, form);
    expect((await render(response, form)).body).toBe(body);
  });

  test("is encoded again for another representation, and for a table of another second", async () => {
    const { body } = await render(response, table);
    const later = await render(response, { ...table, now: 1_000 });
    const withObjects = await render(response, { ...table, includeObject: "Object" });
    const plain = await render(response, options);
    expect(new Set([body, later.body, withObjects.body, plain.body]).size).toBe(4);
  });
});

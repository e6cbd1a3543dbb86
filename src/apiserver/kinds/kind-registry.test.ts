import { expect, test } from "vitest";
import { builtInKinds } from "../../api/kinds/built-in-kinds.ts";
import { configMapKind } from "../../api/kinds/core/config-map/kind.ts";
import { podKind } from "../../api/kinds/core/pod/kind.ts";
import { defineKind } from "../../api/kinds/kind-definition.ts";
import { createKindRegistry, type KindChange } from "./kind-registry.ts";

const widgets = { group: "example.com", version: "v1", plural: "widgets" };
const widgetKind = defineKind({ resource: { ...widgets, kind: "Widget" }, strategy: {} });

test("finds kinds by resource and by kind", () => {
  const kinds = createKindRegistry(builtInKinds);
  expect(kinds.find({ group: "", version: "v1", plural: "pods" })).toBe(podKind);
  expect(kinds.findKind("v1", "Pod")).toBe(podKind);
  expect(kinds.findKind("apps/v1", "Pod")).toBeUndefined();
  expect(kinds.find(widgets)).toBeUndefined();
  expect(kinds.list()).toEqual(builtInKinds);
});

test("serves an added kind once every listener is prepared", async () => {
  const kinds = createKindRegistry([podKind]);
  let finish = () => {};
  const prepared = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const seen: KindChange["type"][] = [];
  kinds.onChange(({ type }) => {
    seen.push(type);
    return type === "adding" ? prepared : undefined;
  });
  const added = kinds.add(widgetKind);
  expect(kinds.find(widgets)).toBeUndefined();
  await expect(kinds.add(widgetKind)).rejects.toThrow("widgets.example.com");
  finish();
  await added;
  expect(kinds.find(widgets)).toBe(widgetKind);
  expect(kinds.list()).toEqual([podKind, widgetKind]);
  expect(seen).toEqual(["adding", "added"]);
});

test("does not serve a kind that a listener could not prepare", async () => {
  const kinds = createKindRegistry([]);
  kinds.onChange(() => Promise.reject(new Error("the store is closed")));
  await expect(kinds.add(widgetKind)).rejects.toThrow("the store is closed");
  expect(kinds.list()).toEqual([]);
});

test("rejects a kind whose resource or kind is registered already", async () => {
  const kinds = createKindRegistry([podKind]);
  const resource = { ...podKind.resource, plural: "other" };
  await expect(kinds.add({ ...podKind, resource })).rejects.toThrow("registered already");
  expect(() => createKindRegistry([configMapKind, configMapKind])).toThrow("registered already");
});

test("a removed kind is no longer found, and can be added again", async () => {
  const kinds = createKindRegistry([podKind, widgetKind]);
  const seen: string[] = [];
  const unsubscribe = kinds.onChange(({ type, definition }) => {
    seen.push(`${type} ${definition.resource.plural}`);
  });
  kinds.remove(widgets);
  kinds.remove(widgets);
  expect(kinds.find(widgets)).toBeUndefined();
  expect(kinds.findKind("example.com/v1", "Widget")).toBeUndefined();
  await kinds.add(widgetKind);
  expect(kinds.findKind("example.com/v1", "Widget")).toBe(widgetKind);
  unsubscribe();
  kinds.remove(widgets);
  expect(seen).toEqual(["removed widgets", "adding widgets", "added widgets"]);
});

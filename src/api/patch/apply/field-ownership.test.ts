import { describe, expect, test } from "vitest";
import { builtInSchema } from "../../schema/built-in-schema.ts";
import type { JsonObject } from "../../schema/json-object.ts";
import { applyConfiguration, trackUpdate } from "./field-ownership.ts";
import { formatPath } from "./field-set.ts";
import { decodeManagers, encodeManagers, type FieldManagers } from "./managed-fields.ts";
import { mergeTypeOf } from "./merge-type.ts";

const type = mergeTypeOf(builtInSchema, "core.v1.ConfigMap");
const podType = mergeTypeOf(builtInSchema, "core.v1.Pod");
const now = "2026-01-01T00:00:00Z";
const write = { apiVersion: "v1", type, version: () => undefined, subresource: "", resetFields: {}, now };
const noManagers: FieldManagers = new Map();

function configMap(data: Record<string, string> | undefined): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, ...(data && { data }) };
}

/** Data keys by manager: `{ alice: ["a"] }`. */
function owners(managers: FieldManagers): Record<string, string[]> {
  const entries = [...managers.values()].map(({ manager, fields }): [string, string[]] => {
    const keys = Object.keys(fields["f:data"] ?? {}).filter((element) => element !== ".");
    return [manager, keys.map((key) => key.slice(2)).sort()];
  });
  return Object.fromEntries(entries);
}

function apply(
  live: JsonObject | undefined,
  managers: FieldManagers,
  by: { manager: string; data: Record<string, string>; force?: boolean },
) {
  const { manager, data, force = false } = by;
  return applyConfiguration({ ...write, manager, managers, live, configuration: configMap(data), force });
}

function applied(...args: Parameters<typeof apply>) {
  const result = apply(...args);
  if (result.kind === "conflict") throw new Error("conflict");
  return { live: result.object ?? args[0] ?? {}, managers: result.managers };
}

describe("trackUpdate", () => {
  const created = trackUpdate({
    ...write,
    manager: "alice",
    managers: noManagers,
    before: undefined,
    after: configMap({ a: "1", b: "1" }),
  });

  test("the creator owns everything but what the server sets", () => {
    expect(encodeManagers(created)).toEqual([
      {
        manager: "alice",
        operation: "Update",
        apiVersion: "v1",
        time: now,
        fieldsType: "FieldsV1",
        fieldsV1: { "f:data": { ".": {}, "f:a": {}, "f:b": {} } },
      },
    ]);
  });

  test.each([
    ["a changed field changes its owner", { a: "2", b: "1" }, { alice: ["b"], bob: ["a"] }],
    ["an added field has an owner", { a: "1", b: "1", c: "1" }, { alice: ["a", "b"], bob: ["c"] }],
    ["a removed field has none", { a: "1" }, { alice: ["a"] }],
    ["without a change nothing changes", { a: "1", b: "1" }, { alice: ["a", "b"] }],
  ])("%s", (_, data, expected) => {
    const managers = trackUpdate({
      ...write,
      manager: "bob",
      managers: created,
      before: configMap({ a: "1", b: "1" }),
      after: configMap(data),
    });
    expect(owners(managers)).toEqual(expected);
  });

  test("an object without managers stays without", () => {
    const before = configMap({});
    const managers = trackUpdate({
      ...write,
      manager: "bob",
      managers: noManagers,
      before,
      after: configMap({ a: "1" }),
    });
    expect(managers.size).toBe(0);
  });

  test("fields that the endpoint does not write have no owner", () => {
    const after = { metadata: { name: "a" }, spec: { containers: [] }, status: { phase: "Running" } };
    const pod = { ...write, type: podType, manager: "alice", managers: noManagers, before: undefined, after };
    const managers = trackUpdate({ ...pod, resetFields: { "f:status": {} } });
    expect(JSON.stringify(encodeManagers(managers) ?? [])).not.toContain("f:status");
  });

  test("more than ten updaters: the oldest are merged", () => {
    let managers = created;
    let before = configMap({ a: "1", b: "1" });
    for (let i = 0; i < 12; i++) {
      const after = configMap({ ...(before.data as Record<string, string>), [`k${i}`]: "1" });
      managers = trackUpdate({ ...write, manager: `m${i}`, managers, before, after });
      before = after;
    }
    expect(managers.size).toBe(10);
    expect([...managers.values()].map(({ manager }) => manager)).toContain("ancient-changes");
  });
});

describe("applyConfiguration", () => {
  test("creates the object, which the applier owns", () => {
    const { live, managers } = applied(undefined, noManagers, { manager: "alice", data: { a: "1" } });
    expect(live).toMatchObject({ data: { a: "1" } });
    expect(owners(managers)).toEqual({ alice: ["a"] });
  });

  test("a field of another manager conflicts unless its value is the same", () => {
    const first = applied(undefined, noManagers, { manager: "alice", data: { a: "1" } });
    const same = applied(first.live, first.managers, { manager: "bob", data: { a: "1" } });
    expect(owners(same.managers)).toEqual({ alice: ["a"], bob: ["a"] });
    const result = apply(first.live, first.managers, { manager: "bob", data: { a: "2" } });
    if (result.kind !== "conflict") throw new Error("no conflict");
    expect(result.conflicts.map(({ manager, path }) => [manager.manager, formatPath(path)])).toEqual([
      ["alice", ".data.a"],
    ]);
    const forced = applied(first.live, first.managers, { manager: "bob", data: { a: "2" }, force: true });
    expect(owners(forced.managers)).toEqual({ bob: ["a"] });
  });

  test("removes what the applier no longer applies, unless another manager owns it", () => {
    const first = applied(undefined, noManagers, { manager: "alice", data: { both: "1", mine: "1" } });
    const second = applied(first.live, first.managers, { manager: "bob", data: { both: "1" } });
    const third = applied(second.live, second.managers, { manager: "alice", data: { new: "1" } });
    expect(third.live.data).toEqual({ both: "1", new: "1" });
    expect(owners(third.managers)).toEqual({ alice: ["new"], bob: ["both"] });
  });

  test("fields that existed before the first apply belong to before-first-apply", () => {
    const { managers } = applied(configMap({ old: "1" }), noManagers, { manager: "alice", data: { a: "1" } });
    expect(owners(managers)).toEqual({ "before-first-apply": ["old"], alice: ["a"] });
  });

  test("items of a list map are merged by key and keep the order of the configuration", () => {
    const container = (name: string, image?: string) => ({ name, ...(image && { image }) });
    const result = applyConfiguration({
      ...write,
      type: podType,
      manager: "alice",
      managers: noManagers,
      live: {
        metadata: {},
        spec: { containers: [container("a", "1"), container("b", "1"), container("c", "1")] },
      },
      configuration: {
        metadata: {},
        spec: { containers: [container("c", "1"), container("a", "1"), container("d", "1")] },
      },
      force: false,
    });
    if (result.kind !== "applied") throw new Error("conflict");
    const spec = result.object?.spec as { containers: { name: string }[] } | undefined;
    expect(spec?.containers.map(({ name }) => name)).toEqual(["b", "c", "a", "d"]);
  });

  test("a list with the same key twice is an error that names the key", () => {
    const containers = [{ name: "a" }, { name: "a" }];
    const pod = { metadata: {}, spec: { containers } };
    expect(() =>
      applyConfiguration({
        ...write,
        type: podType,
        manager: "alice",
        managers: noManagers,
        live: undefined,
        configuration: pod,
        force: false,
      }),
    ).toThrow('duplicate entries for key [name="a"]');
  });
});

describe("decodeManagers", () => {
  const entry = { manager: "a", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1" };
  test.each([
    ["a malformed key", { ...entry, fieldsV1: { "k:{": {} } }],
    ["an unknown element", { ...entry, fieldsV1: { "x:a": {} } }],
    ["an unknown operation", { ...entry, operation: "Do" }],
    ["another type of fields", { ...entry, fieldsType: "FieldsV2" }],
    ["no version", { ...entry, apiVersion: "" }],
  ])("%s makes the entries invalid", (_, invalid) => {
    expect(decodeManagers([invalid])).toBeUndefined();
  });
});

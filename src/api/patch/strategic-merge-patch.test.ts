import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { builtInSchema } from "../schema/built-in-schema.ts";
import type { JsonObject } from "../schema/json-object.ts";
import { PatchError } from "./patch-error.ts";
import { applyStrategicMergePatch } from "./strategic-merge-patch.ts";

function patchSpec(current: JsonObject, patch: JsonObject): JsonObject {
  return applyStrategicMergePatch(builtInSchema, "core.v1.PodSpec", current, patch);
}

const a = { name: "a", image: "one" };
const b = { name: "b" };
const c = { name: "c" };

describe("applyStrategicMergePatch", () => {
  test.each<[string, JsonObject, JsonObject, JsonObject]>([
    ["scalars are replaced", { hostname: "a" }, { hostname: "b" }, { hostname: "b" }],
    ["null removes", { hostname: "a", subdomain: "s" }, { hostname: null }, { subdomain: "s" }],
    ["null of nothing is nothing", {}, { hostname: null, dnsConfig: { options: null } }, { dnsConfig: {} }],
    [
      "objects are merged",
      { securityContext: { runAsUser: 1 } },
      { securityContext: { runAsGroup: 2 } },
      { securityContext: { runAsUser: 1, runAsGroup: 2 } },
    ],
    [
      "maps are merged, atomic or not",
      { nodeSelector: { a: "1", b: "2" } },
      { nodeSelector: { b: null, c: "3" } },
      { nodeSelector: { a: "1", c: "3" } },
    ],
    ["another type replaces", { hostname: "a" }, { hostname: { b: 1 } }, { hostname: { b: 1 } }],
    [
      "lists without a merge key are replaced",
      { tolerations: [{ key: "a" }] },
      { tolerations: [{ key: "b" }] },
      { tolerations: [{ key: "b" }] },
    ],
    [
      "items are merged by key",
      { containers: [a, b] },
      { containers: [{ name: "a", image: "two" }] },
      { containers: [{ name: "a", image: "two" }, b] },
    ],
    [
      "new items come where the patch has them",
      { containers: [a, b] },
      { containers: [c, { name: "b" }] },
      { containers: [c, a, b] },
    ],
    ["new items alone come first", { containers: [a, b] }, { containers: [c] }, { containers: [c, a, b] }],
    [
      "items are deleted",
      { containers: [a, b] },
      { containers: [{ name: "a", $patch: "delete" }] },
      { containers: [b] },
    ],
    [
      "deleting nothing",
      { containers: [a] },
      { containers: [{ name: "x", $patch: "delete" }] },
      { containers: [a] },
    ],
    [
      "a list is replaced",
      { containers: [a, b] },
      { containers: [{ $patch: "replace" }, c] },
      { containers: [c] },
    ],
    [
      "a list is emptied",
      { containers: [a, b] },
      { containers: [{ $patch: "replace" }] },
      { containers: [] },
    ],
    [
      "an object is replaced",
      { securityContext: { runAsUser: 1 } },
      { securityContext: { $patch: "replace", runAsGroup: 2 } },
      { securityContext: { runAsGroup: 2 } },
    ],
    [
      "an object is emptied",
      { securityContext: { runAsUser: 1 } },
      { securityContext: { $patch: "delete" } },
      { securityContext: {} },
    ],
    ["deleting an object that is not there", {}, { securityContext: { $patch: "delete" } }, {}],
    [
      "directives in what is new fall away",
      {},
      { containers: [{ name: "a", $patch: "delete" }, b] },
      { containers: [b] },
    ],
    [
      "the order is set",
      { containers: [a, b] },
      { "$setElementOrder/containers": [b, { name: "a" }] },
      { containers: [b, a] },
    ],
    [
      "the order is set while items change",
      { containers: [a, b] },
      {
        "$setElementOrder/containers": [c, { name: "b" }, { name: "a" }],
        containers: [c, { name: "a", image: "two" }],
      },
      { containers: [c, b, { name: "a", image: "two" }] },
    ],
    [
      "items that the order does not name keep their place",
      { containers: [a, b, c] },
      { "$setElementOrder/containers": [c, { name: "a" }] },
      { containers: [b, c, a] },
    ],
    ["an order for a list that is not there", {}, { "$setElementOrder/containers": [a] }, {}],
    [
      "nested lists",
      { containers: [{ name: "a", env: [{ name: "x", value: "1" }] }] },
      { containers: [{ name: "a", env: [{ name: "y", value: "2" }] }] },
      {
        containers: [
          {
            name: "a",
            env: [
              { name: "y", value: "2" },
              { name: "x", value: "1" },
            ],
          },
        ],
      },
    ],
    [
      "keys are retained",
      { volumes: [{ name: "v", emptyDir: {} }] },
      { volumes: [{ $retainKeys: ["name", "configMap"], name: "v", configMap: { name: "c" } }] },
      { volumes: [{ name: "v", configMap: { name: "c" } }] },
    ],
  ])("%s", (_, current, patch, expected) => {
    const [currentBefore, patchBefore] = structuredClone([current, patch]);
    expect(patchSpec(current, patch)).toEqual(expected);
    expect([current, patch]).toEqual([currentBefore, patchBefore]);
  });

  test("a field with the strategy to replace is replaced", () => {
    const current = { selector: { matchLabels: { a: "1" } } };
    const patch = { selector: { matchLabels: { b: "2" } } };
    expect(
      applyStrategicMergePatch(builtInSchema, "policy.v1.PodDisruptionBudgetSpec", current, patch),
    ).toEqual(patch);
  });

  test.each<[string, string[], JsonObject, string[]]>([
    ["are united", ["a", "b"], { finalizers: ["c", "a"] }, ["c", "a", "b"]],
    ["lose items", ["a", "b", "c"], { "$deleteFromPrimitiveList/finalizers": ["b", "x"] }, ["a", "c"]],
    [
      "gain, lose and are ordered",
      ["a", "b"],
      {
        "$deleteFromPrimitiveList/finalizers": ["a"],
        "$setElementOrder/finalizers": ["c", "b"],
        finalizers: ["c"],
      },
      ["c", "b"],
    ],
    ["lose nothing when there is none", [], { "$deleteFromPrimitiveList/finalizers": ["b"] }, []],
  ])("sets %s", (_, finalizers, patch, expected) => {
    expect(applyStrategicMergePatch(builtInSchema, "meta.v1.ObjectMeta", { finalizers }, patch)).toEqual({
      finalizers: expected,
    });
  });

  test.each<[JsonObject, JsonObject, string]>([
    [
      { containers: [a] },
      { containers: [{ image: "x" }] },
      "map: map[image:x] does not contain declared merge key: name",
    ],
    [
      { containers: [a] },
      { containers: [{ $patch: "delete" }] },
      "map: map[$patch:delete] does not contain declared merge key: name",
    ],
    [
      { containers: [a] },
      { containers: [{ name: "a", $patch: "merge" }] },
      "merging lists cannot yet be specified in the patch",
    ],
    [
      { containers: [a] },
      { containers: [{ name: "a", $patch: "x" }] },
      "unknown patch type: x in map: map[$patch:x name:a]",
    ],
    [{}, { $patch: "x" }, "unknown patch type: x in map: map[$patch:x]"],
    [
      { containers: [a] },
      { containers: ["a"] },
      "list element types are not identical: [[map[image:one name:a]] [a]]",
    ],
    [
      { containers: [a] },
      { containers: [null] },
      "list element types are not identical: [[map[image:one name:a]] [<nil>]]",
    ],
    [{ containers: [a] }, { containers: [[]] }, "lists of lists are not supported"],
    [{}, { $retainKeys: "a" }, "invalid patch format of retainKeys"],
    [{}, { $retainKeys: ["a"], b: 1 }, "invalid patch format of retainKeys"],
    [{}, { "$setElementOrder/containers": 1 }, "invalid patch format of setElementOrder list"],
    [{}, { $setElementOrder: [] }, "invalid patch format of setElementOrder list"],
    [{}, { $deleteFromPrimitiveList: [] }, "invalid patch format of primitive list"],
    [
      { containers: [a, b] },
      { "$setElementOrder/containers": [b, a], containers: [a, b] },
      "invalid patch format of setElementOrder list",
    ],
    [
      { nope: { x: {} } },
      { nope: { x: {} } },
      'unable to find api field in struct PodSpec for the json field "nope"',
    ],
    [
      { nodeSelector: { x: {} } },
      { nodeSelector: { x: {} } },
      "merging an object in json but data type is not struct, instead is: map",
    ],
    [{ securityContext: [a] }, { securityContext: [a] }, "expected slice or array type, but got: struct"],
  ])("%j with %j fails", (current, patch, message) => {
    expect(() => patchSpec(current, patch)).toThrow(expect.objectContaining({ name: "PatchError", message }));
  });

  test("hostile keys are data", () => {
    const patch = JSON.parse('{"labels":{"__proto__":"x"},"annotations":{"__proto__":{"polluted":1}}}');
    const patched = applyStrategicMergePatch(
      builtInSchema,
      "meta.v1.ObjectMeta",
      { labels: { a: "b" } },
      patch,
    );
    expect(JSON.stringify(patched)).toBe(
      '{"labels":{"a":"b","__proto__":"x"},"annotations":{"__proto__":{"polluted":1}}}',
    );
    expect("polluted" in {}).toBe(false);
  });

  test("long lists take no quadratic time", () => {
    const items = Array.from({ length: 20_000 }, (_, i) => ({ name: `c${i}` }));
    const order = items.toReversed();
    const patched = patchSpec(
      { containers: items },
      { containers: order, "$setElementOrder/containers": order },
    );
    expect(patched.containers).toEqual(order);
  });

  test("any patch applies or fails with a patch error", () => {
    const item = fc.record(
      {
        name: fc.constantFrom("a", "b", "c"),
        image: fc.constantFrom("x", null),
        $patch: fc.constantFrom("delete", "replace", "merge"),
      },
      { requiredKeys: [] },
    );
    const list = fc.oneof(fc.array(item), fc.array(fc.jsonValue()), fc.constant(null));
    const patch = fc.record(
      {
        containers: list,
        volumes: list,
        tolerations: list,
        nodeSelector: fc.oneof(
          fc.dictionary(fc.constantFrom("a", "__proto__"), fc.jsonValue()),
          fc.jsonValue(),
        ),
        "$setElementOrder/containers": list,
        "$deleteFromPrimitiveList/containers": list,
        $retainKeys: fc.oneof(fc.constant(["containers", "volumes"]), fc.jsonValue()),
      },
      { requiredKeys: [] },
    );
    const current = { containers: [a, b], volumes: [{ name: "a", emptyDir: {} }], nodeSelector: { a: "b" } };
    fc.assert(
      fc.property(patch, (patch) => {
        try {
          patchSpec(current, patch);
        } catch (error) {
          expect(error).toBeInstanceOf(PatchError);
        }
      }),
    );
  });
});

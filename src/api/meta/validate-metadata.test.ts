import { describe, expect, test } from "vitest";
import { sentences } from "../pod/pod.fixture.ts";
import type { ObjectMeta } from "./objects.ts";
import { validateObjectMeta, validateObjectMetaUpdate } from "./validate-metadata.ts";

const rules = { namespaced: true, nameRule: "dnsLabel" } as const;
const good: ObjectMeta = { name: "web", namespace: "default" };

describe("validateObjectMeta", () => {
  test.each<[string, ObjectMeta]>([
    ["plain", good],
    [
      "with everything",
      {
        ...good,
        generateName: "web-",
        labels: { app: "web", "example.com/tier": "" },
        annotations: { "Example.com/Note": "ä".repeat(100) },
        finalizers: ["example.com/keep", "foregroundDeletion"],
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "ReplicaSet", name: "a", uid: "1", controller: true },
          { apiVersion: "v1", kind: "Node", name: "b", uid: "2" },
        ],
        managedFields: [{ manager: "kubectl", operation: "Update", fieldsType: "FieldsV1" }],
      },
    ],
  ])("%s is fine", (_, meta) => {
    expect(validateObjectMeta(meta, rules)).toEqual([]);
  });

  test.each<[ObjectMeta, string[]]>([
    [{ namespace: "default" }, ["metadata.name: Required value: name or generateName is required"]],
    [{ ...good, name: "a.b" }, ['metadata.name: Invalid value: "a.b": must not contain dots']],
    [
      { ...good, generateName: "a.b-" },
      ['metadata.generateName: Invalid value: "a.b-": must not contain dots'],
    ],
    [{ name: "web" }, ["metadata.namespace: Required value"]],
    [
      { ...good, generation: -1 },
      ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
    ],
    [
      { ...good, annotations: { a: "x".repeat(256 * 1024) } },
      ["metadata.annotations: Too long: may not be more than 262144 bytes"],
    ],
    [
      { ...good, ownerReferences: [{ apiVersion: "a/b/c", kind: "", name: "", uid: "" }] },
      [
        'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
        'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
      ],
    ],
    [
      { ...good, finalizers: ["orphan", "foregroundDeletion"] },
      [
        'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set',
      ],
    ],
    [
      { ...good, finalizers: ["keep"] },
      [
        'metadata.finalizers[0]: Invalid value: "keep": name is neither a standard finalizer name nor is it fully qualified',
      ],
    ],
    [
      { ...good, managedFields: [{ operation: "Do", fieldsType: "V2" }] },
      [
        'metadata.managedFields[0].operation: Unsupported value: "Do": supported values: "Apply", "Update"',
        'metadata.managedFields[0].fieldsType: Invalid value: "V2": must be `FieldsV1`',
      ],
    ],
  ])("case %#", (meta, expected) => {
    expect(sentences(validateObjectMeta(meta, rules))).toEqual(expected);
  });

  test("an invalid key and an invalid value of a label are separate errors", () => {
    const errors = validateObjectMeta({ ...good, labels: { "-": "-" } }, rules);
    expect(errors.map(({ field, type }) => `${type} ${field}`)).toEqual([
      "FieldValueInvalid metadata.labels",
      "FieldValueInvalid metadata.labels",
    ]);
  });

  test("two controllers", () => {
    const owner = { apiVersion: "v1", kind: "Pod", uid: "1", controller: true };
    const ownerReferences = ["a", "b"].map((name) => ({ ...owner, name }));
    expect(sentences(validateObjectMeta({ ...good, ownerReferences }, rules))[0]).toContain(
      'Only one reference can have Controller set to true. Found "true" in references for Pod/a and Pod/b',
    );
  });

  test("an event cannot be an owner", () => {
    const ownerReferences = [{ apiVersion: "v1", kind: "Event", name: "e", uid: "1" }];
    expect(sentences(validateObjectMeta({ ...good, ownerReferences }, rules))[0]).toContain(
      "/v1, Kind=Event is disallowed from being an owner",
    );
  });

  test("cluster-scoped objects must not have a namespace", () => {
    const cluster = { namespaced: false, nameRule: "dnsSubdomain" } as const;
    expect(sentences(validateObjectMeta(good, cluster))).toEqual([
      "metadata.namespace: Forbidden: not allowed on this type",
    ]);
  });
});

describe("validateObjectMetaUpdate", () => {
  const current: ObjectMeta = { ...good, uid: "1", resourceVersion: "5", generation: 2 };

  test("labels and annotations may change", () => {
    expect(validateObjectMetaUpdate({ ...current, labels: { a: "b" } }, current)).toEqual([]);
  });

  test.each<[Partial<ObjectMeta>, string[]]>([
    [{ uid: "2" }, ['metadata.uid: Invalid value: "2": field is immutable']],
    [{ name: "other" }, ['metadata.name: Invalid value: "other": field is immutable']],
    [{ deletionTimestamp: "x" }, ['metadata.deletionTimestamp: Invalid value: "x": field is immutable']],
    [
      { resourceVersion: "" },
      ['metadata.resourceVersion: Invalid value: "": must be specified for an update'],
    ],
    [{ generation: 1 }, ["metadata.generation: Invalid value: 1: must not be decremented"]],
  ])("%j", (change, expected) => {
    expect(sentences(validateObjectMetaUpdate({ ...current, ...change }, current))).toEqual(expected);
  });

  test("rejects new finalizers of an object that is being deleted", () => {
    const going = { ...current, deletionTimestamp: "t", finalizers: ["a/b"] };
    expect(validateObjectMetaUpdate({ ...going, finalizers: [] }, going)).toEqual([]);
    expect(sentences(validateObjectMetaUpdate({ ...going, finalizers: ["a/b", "c/d"] }, going))).toEqual([
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"c/d"}',
    ]);
  });
});

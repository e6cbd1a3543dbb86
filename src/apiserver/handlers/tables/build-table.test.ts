import { describe, expect, test } from "vitest";
import { builtInKinds } from "../../../api/kinds/built-in-kinds.ts";
import { podKind } from "../../../api/kinds/core/pod/kind.ts";
import { serviceAccountKind } from "../../../api/kinds/core/service-account/kind.ts";
import type { KubeObject } from "../../../api/meta/objects.ts";
import { buildEventTable, buildTable, parseIncludeObject, toPartialMetadata } from "./build-table.ts";

const now = Date.parse("2026-01-01T00:05:00Z");
const layout = serviceAccountKind;
const object: KubeObject = {
  kind: "ServiceAccount",
  apiVersion: "v1",
  metadata: { name: "default", resourceVersion: "7", creationTimestamp: "2026-01-01T00:00:00Z" },
};

describe("buildTable", () => {
  test("columns, rows and the list's metadata", () => {
    expect(buildTable(layout, [object], { now, metadata: { resourceVersion: "9", continue: "x" } })).toEqual({
      kind: "Table",
      apiVersion: "meta.k8s.io/v1",
      metadata: { resourceVersion: "9", continue: "x" },
      columnDefinitions: [
        { name: "Name", type: "string", format: "name", description: expect.any(String), priority: 0 },
        { name: "Age", type: "string", format: "", description: expect.any(String), priority: 0 },
      ],
      rows: [
        {
          cells: ["default", "5m"],
          object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata },
        },
      ],
    });
  });

  const bookmark = { ...object, metadata: { annotations: { "k8s.io/initial-events-end": "true" } } };

  test.each([
    [object, "Object" as const, object],
    [object, "Metadata" as const, toPartialMetadata(object)],
    [object, "None" as const, null],
    [bookmark, "None" as const, toPartialMetadata(bookmark)],
  ])("includeObject: %j, %s", (object, includeObject, expected) => {
    expect(buildTable(layout, [object], { now, includeObject }).rows[0]?.object).toEqual(expected);
  });

  test("the version of meta.k8s.io is the requested one", () => {
    const table = buildTable(layout, [object], { now, metaVersion: "v1beta1" });
    expect(table).toMatchObject({
      apiVersion: "meta.k8s.io/v1beta1",
      rows: [{ object: { apiVersion: "meta.k8s.io/v1beta1" } }],
    });
  });

  test("an empty list has columns and no rows", () => {
    expect(buildTable(layout, [], { now })).toMatchObject({ columnDefinitions: [{}, {}], rows: [] });
  });

  test("finished pods are marked", () => {
    const pod = { ...object, kind: "Pod", status: { phase: "Succeeded" } };
    expect(buildTable(podKind, [pod], { now }).rows[0]?.conditions).toMatchObject([
      { type: "Completed", status: "True", reason: "Succeeded" },
    ]);
  });
});

test("the table of a watch event has one row, and columns unless the client has them", () => {
  const first = buildEventTable(layout, object, { includeObject: "None", now });
  expect(first).toMatchObject({
    metadata: { resourceVersion: "7" },
    rows: [{ cells: ["default", "5m"], object: null }],
  });
  expect(first.columnDefinitions).toHaveLength(2);
  expect(buildEventTable(layout, object, { now, noHeaders: true }).columnDefinitions).toBeNull();
});

test.each(builtInKinds)("$resource.kind of '$resource.group': a bookmark has a row", (definition) => {
  const bookmark = { kind: definition.resource.kind, apiVersion: "v1", metadata: { resourceVersion: "1" } };
  const [row] = buildTable(definition, [bookmark], { now }).rows;
  expect(row?.cells.map((cell) => typeof cell)).not.toContain("undefined");
});

describe("parseIncludeObject", () => {
  test.each([
    [undefined, "Metadata"],
    ["", "Metadata"],
    ["None", "None"],
    ["Object", "Object"],
  ])("%j", (value, expected) => {
    expect(parseIncludeObject(value)).toBe(expected);
  });

  test("anything else is a bad request", () => {
    expect(() => parseIncludeObject("all")).toThrow(
      `Unable to convert to Table as requested: includeObject: Invalid value: "all": must be 'Metadata', 'Object', 'None', or empty`,
    );
  });
});

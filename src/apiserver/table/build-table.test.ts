import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../api/objects.ts";
import { resources } from "../../api/resources.ts";
import { buildTable, createTableEvents, parseIncludeObject, toPartialMetadata } from "./build-table.ts";
import { tableFor } from "./table-for.ts";

const now = Date.parse("2026-01-01T00:05:00Z");
const layout = tableFor({ group: "", kind: "ServiceAccount" });
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

  test("the version of meta.k8s.io is the one asked for", () => {
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
    expect(
      buildTable(tableFor({ group: "", kind: "Pod" }), [pod], { now }).rows[0]?.conditions,
    ).toMatchObject([{ type: "Completed", status: "True", reason: "Succeeded" }]);
  });
});

test("only the first event of a watch has columns", () => {
  const toTable = createTableEvents(layout, { includeObject: "None" });
  const first = toTable(object, now);
  expect(first).toMatchObject({
    metadata: { resourceVersion: "7" },
    rows: [{ cells: ["default", "5m"], object: null }],
  });
  expect(first.columnDefinitions).toHaveLength(2);
  expect(toTable(object, now).columnDefinitions).toBeNull();
});

test.each(resources)("$kind of '$group': a bookmark, which has metadata only, is no trouble", (resource) => {
  const bookmark = { kind: resource.kind, apiVersion: "v1", metadata: { resourceVersion: "1" } };
  const [row] = buildTable(tableFor(resource), [bookmark], { now }).rows;
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

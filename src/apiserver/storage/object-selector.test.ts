import { expect, test } from "vitest";
import { builtInKinds } from "../../api/kinds/built-in-kinds.ts";
import { createKindRegistry } from "../kinds/kind-registry.ts";
import { parseObjectSelector } from "./object-selector.ts";

const kinds = createKindRegistry(builtInKinds);

function fieldsOf(group: string, plural: string, fieldSelector: string) {
  const definition = kinds.find({ group, version: "v1", plural });
  if (!definition) throw new Error(plural);
  const query = new URLSearchParams({ fieldSelector });
  return parseObjectSelector(query, definition.resource, definition.strategy).fields;
}

test("maps field selectors of events.k8s.io to fields of core events", () => {
  expect(fieldsOf("events.k8s.io", "events", "regarding.name=a,reportingController!=b")).toEqual([
    { field: "involvedObject.name", operator: "=", value: "a" },
    { field: "reportingComponent", operator: "!=", value: "b" },
  ]);
});

test.each([
  ["", "pods", "foo", "field label not supported: foo"],
  ["events.k8s.io", "events", "involvedObject.name", "field label not supported: involvedObject.name"],
  [
    "",
    "configmaps",
    "foo",
    '"foo" is not a known field selector: only "metadata.name", "metadata.namespace"',
  ],
  [
    "apps",
    "replicasets",
    "status.replicas",
    '"status.replicas" is not a known field selector: only "metadata.name", "metadata.namespace"',
  ],
])("%s %s have no field %s", (group, plural, field, message) => {
  expect(() => fieldsOf(group, plural, `${field}=x`)).toThrow(
    expect.objectContaining({ code: 400, message }),
  );
});

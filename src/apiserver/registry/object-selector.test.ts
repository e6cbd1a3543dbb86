import { expect, test } from "vitest";
import { findResource } from "../../api/resources.ts";
import { strategyFor } from "../strategy/strategies.ts";
import { parseObjectSelector } from "./object-selector.ts";

function fieldsOf(group: string, plural: string, fieldSelector: string) {
  const resource = findResource(group, "v1", plural);
  if (!resource) throw new Error(plural);
  const query = new URLSearchParams({ fieldSelector });
  return parseObjectSelector(query, resource, strategyFor(resource)).fields;
}

test("fields of events.k8s.io are those of the core's events under other names", () => {
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

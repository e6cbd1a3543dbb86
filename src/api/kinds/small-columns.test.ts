import { expect, test } from "vitest";
import { cellsOf, createdAt } from "./cells.fixture.ts";

test.each<[string, object, unknown[]]>([
  ["Namespace", { status: { phase: "Active" } }, ["x", "Active", "60m"]],
  ["ConfigMap", { data: { a: "" }, binaryData: { b: "" } }, ["x", 2, "60m"]],
  ["Secret", { type: "Opaque", data: { a: "" } }, ["x", "Opaque", 1, "60m"]],
  ["Lease", { spec: { holderIdentity: "me" } }, ["x", "me", "60m"]],
  ["RuntimeClass", { handler: "runc" }, ["x", "runc", "60m"]],
  ["PriorityClass", { value: 10, preemptionPolicy: "Never" }, ["x", 10, false, "60m", "Never"]],
  ["Role", {}, ["x", createdAt]],
])("%s %j", (kind, fields, expected) => {
  expect(cellsOf(kind, fields)).toEqual(expected);
});

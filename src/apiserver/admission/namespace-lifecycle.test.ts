import { expect, test } from "vitest";
import type { Namespace } from "../../api/objects.ts";
import { findResource, type Resource } from "../../api/resources.ts";
import { type NamespacedWrite, refuseByNamespace } from "./namespace-lifecycle.ts";

function resource(group: string, plural: string): Resource {
  const found = findResource(group, "v1", plural);
  if (!found) throw new Error(plural);
  return found;
}

const pods = resource("", "pods");
const namespaces = resource("", "namespaces");
const nodes = resource("", "nodes");
const sets = resource("apps", "statefulsets");

function makeNamespace(phase: string): Namespace {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" }, status: { phase } };
}
const active = makeNamespace("Active");
const going = makeNamespace("Terminating");

test.each<[NamespacedWrite["operation"], Resource, string, Namespace | undefined, string | undefined]>([
  ["create", pods, "a", active, undefined],
  ["create", pods, "a", undefined, 'namespaces "team" not found'],
  ["update", pods, "a", undefined, 'namespaces "team" not found'],
  [
    "create",
    pods,
    "a",
    going,
    'pods "a" is forbidden: unable to create new content in namespace team because it is being terminated',
  ],
  [
    "create",
    sets,
    "a",
    going,
    'statefulsets.apps "a" is forbidden: unable to create new content in namespace team because it is being terminated',
  ],
  ["update", pods, "a", going, undefined],
  ["delete", pods, "a", going, undefined],
  ["delete", pods, "a", undefined, undefined],
  ["create", nodes, "a", undefined, undefined],
  ["create", namespaces, "a", undefined, undefined],
  ["delete", namespaces, "team", undefined, undefined],
  [
    "delete",
    namespaces,
    "default",
    undefined,
    'namespaces "default" is forbidden: this namespace may not be deleted',
  ],
  [
    "delete",
    namespaces,
    "kube-system",
    undefined,
    'namespaces "kube-system" is forbidden: this namespace may not be deleted',
  ],
])("%s %o %s", (operation, resource, name, found, message) => {
  const refusal = refuseByNamespace({ operation, resource, namespace: "team", name }, found);
  expect(refusal?.message).toBe(message);
});

test("a namespace that is going is named as the cause", () => {
  const refusal = refuseByNamespace(
    { operation: "create", resource: pods, namespace: "team", name: "a" },
    going,
  );
  expect(refusal).toMatchObject({
    code: 403,
    reason: "Forbidden",
    details: {
      name: "a",
      kind: "pods",
      causes: [
        {
          reason: "NamespaceTerminating",
          message: "namespace team is being terminated",
          field: "metadata.namespace",
        },
      ],
    },
  });
});

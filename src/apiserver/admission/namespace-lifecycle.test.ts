import { expect, test } from "vitest";
import { statefulSetKind } from "../../api/kinds/apps/stateful-set/kind.ts";
import { namespaceKind } from "../../api/kinds/core/namespace/kind.ts";
import { nodeKind } from "../../api/kinds/core/node/kind.ts";
import { podKind } from "../../api/kinds/core/pod/kind.ts";
import type { Namespace } from "../../api/meta/objects.ts";
import type { Resource } from "../../api/meta/resource.ts";
import { checkNamespaceLifecycle, type NamespacedWrite } from "./namespace-lifecycle.ts";

const pods = podKind.resource;
const namespaces = namespaceKind.resource;
const nodes = nodeKind.resource;
const sets = statefulSetKind.resource;

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
  const refusal = checkNamespaceLifecycle({ operation, resource, namespace: "team", name }, found);
  expect(refusal?.message).toBe(message);
});

test("the error names the terminating namespace as the cause", () => {
  const refusal = checkNamespaceLifecycle(
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

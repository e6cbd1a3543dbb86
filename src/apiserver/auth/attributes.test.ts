import { describe, expect, test } from "vitest";
import { type Attributes, forbiddenRequest, resourceAttributes } from "./attributes.ts";

const user = { username: "x", groups: [], extra: {} };
const asked = (more: Partial<Attributes>) =>
  resourceAttributes({ user, verb: "list", resource: "pods", apiVersion: "v1", ...more });

describe("forbiddenRequest", () => {
  test.each([
    [
      asked({ namespace: "default" }),
      "",
      'pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "default"',
      { kind: "pods" },
    ],
    [
      asked({ verb: "get", resource: "nodes", name: "n1" }),
      "",
      'nodes "n1" is forbidden: User "x" cannot get resource "nodes" in API group "" at the cluster scope',
      { name: "n1", kind: "nodes" },
    ],
    [
      asked({
        verb: "patch",
        apiGroup: "apps",
        resource: "deployments",
        subresource: "scale",
        namespace: "a",
        name: "d",
      }),
      'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
      'deployments.apps "d" is forbidden: User "x" cannot patch resource "deployments/scale" in API group "apps" in the namespace "a": RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
      { name: "d", group: "apps", kind: "deployments" },
    ],
    [
      asked({ isResourceRequest: false, verb: "get", resource: "", path: "/metrics" }),
      "",
      'forbidden: User "x" cannot get path "/metrics"',
      {},
    ],
    [
      asked({ isResourceRequest: false, verb: "get", resource: "", path: "/<script>&" }),
      "",
      'forbidden: User "x" cannot get path "/&lt;script&gt;&amp;"',
      {},
    ],
  ])("%j", (attributes, reason, message, details) => {
    expect(forbiddenRequest(attributes, reason).toStatus()).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      reason: "Forbidden",
      code: 403,
      message,
      details,
    });
  });
});

import { describe, expect, test } from "vitest";
import { parseFieldSelector } from "../../../api/meta/field-selector.ts";
import type { UserInfo } from "../../request/user-info.ts";
import type { Attributes } from "../attributes.ts";
import { inA, makeNodeWorld, n1, nowhere } from "./node-authorizer.fixture.ts";

const { ask } = makeNodeWorld();

describe("rules by kind", () => {
  const byNode = (nodeName: string) => ({ fieldSelector: parseFieldSelector(`spec.nodeName=${nodeName}`) });
  const lease = (more: Partial<Attributes>) => ({
    apiGroup: "coordination.k8s.io",
    resource: "leases",
    namespace: "kube-node-lease",
    name: "n1",
    ...more,
  });
  test.each<[string, Partial<Attributes>, string | true]>([
    ["watch one secret", inA("secrets", "pull", { verb: "watch" }), true],
    ["list secrets", inA("secrets", "", { verb: "list" }), "No Object name found"],
    ["list secrets everywhere", { verb: "list" }, "can only read namespaced object of this type"],
    ["update a secret", inA("secrets", "pull", { verb: "update" }), "can only read resources of this type"],
    ["a subresource of a secret", inA("secrets", "pull", { subresource: "x" }), "cannot read subresource"],
    [
      "watch a claim",
      inA("persistentvolumeclaims", "claim", { verb: "watch" }),
      "can only get individual resources of this type",
    ],
    [
      "patch the status of a claim",
      inA("persistentvolumeclaims", "claim", { verb: "patch", subresource: "status" }),
      true,
    ],
    [
      "patch the status of another claim",
      inA("persistentvolumeclaims", "x", { verb: "patch", subresource: "status" }),
      nowhere,
    ],
    [
      "get the status of a claim",
      inA("persistentvolumeclaims", "claim", { subresource: "status" }),
      "can only get/update/patch this type",
    ],
    [
      "a token for an account of its pods",
      inA("serviceaccounts", "sa", { verb: "create", subresource: "token" }),
      true,
    ],
    [
      "a token for another account",
      inA("serviceaccounts", "admin", { verb: "create", subresource: "token" }),
      nowhere,
    ],
    [
      "create an account",
      inA("serviceaccounts", "", { verb: "create" }),
      "can only create tokens for individual service accounts",
    ],
    [
      "create another subresource",
      inA("serviceaccounts", "sa", { verb: "create", subresource: "x" }),
      "can only create token subresource of serviceaccount",
    ],
    ["its lease", lease({ verb: "update" }), true],
    ["a new lease", lease({ verb: "create", name: "" }), true],
    [
      "another's lease",
      lease({ verb: "update", name: "n2" }),
      "can only access node lease with the same name as the requesting node",
    ],
    [
      "a lease elsewhere",
      lease({ namespace: "kube-system" }),
      'can only access leases in the "kube-node-lease" system namespace',
    ],
    ["list leases", lease({ verb: "list" }), "can only get, create, update, patch, or delete a node lease"],
    ["its CSINode", { apiGroup: "storage.k8s.io", resource: "csinodes", name: "n1" }, true],
    [
      "another's CSINode",
      { apiGroup: "storage.k8s.io", resource: "csinodes", name: "n2" },
      "can only access CSINode with the same name as the requesting node",
    ],
    ["its node", { resource: "nodes", name: "n1" }, true],
    ["watch its node", { resource: "nodes", name: "n1", verb: "watch" }, true],
    [
      "another node",
      { resource: "nodes", name: "n2" },
      "node 'n1' cannot read 'n2', only its own Node object",
    ],
    [
      "all nodes",
      { resource: "nodes", verb: "list" },
      "node 'n1' cannot read all nodes, only its own Node object",
    ],
    ["register", { resource: "nodes", verb: "create" }, true],
    [
      "patch a node's status, which NodeRestriction limits",
      { resource: "nodes", name: "n1", verb: "patch", subresource: "status" },
      true,
    ],
    ["delete its node", { resource: "nodes", name: "n1", verb: "delete" }, ""],
    ["proxy to a node", { resource: "nodes", name: "n1", subresource: "proxy" }, ""],
    ["watch its pods", { resource: "pods", verb: "watch", ...byNode("n1") }, true],
    [
      "watch another's pods",
      { resource: "pods", verb: "watch", ...byNode("n2") },
      "can only list/watch pods with spec.nodeName field selector",
    ],
    [
      "watch all pods but another's",
      { resource: "pods", verb: "watch", fieldSelector: parseFieldSelector("spec.nodeName!=n1") },
      "can only list/watch pods with spec.nodeName field selector",
    ],
    [
      "list all pods",
      { resource: "pods", verb: "list" },
      "can only list/watch pods with spec.nodeName field selector",
    ],
    ["watch one of its pods", inA("pods", "rich", { verb: "watch" }), true],
    ["create a pod, which NodeRestriction limits", inA("pods", "", { verb: "create" }), true],
    ["update a pod", inA("pods", "rich", { verb: "update" }), ""],
    ["delete many pods", inA("pods", "", { verb: "deletecollection" }), ""],
    ["patch a pod's status", inA("pods", "rich", { verb: "patch", subresource: "status" }), true],
    ["evict a pod", inA("pods", "rich", { verb: "create", subresource: "eviction" }), true],
    ["exec into a pod", inA("pods", "rich", { verb: "create", subresource: "exec" }), ""],
    ["bind a pod", inA("pods", "rich", { verb: "create", subresource: "binding" }), ""],
    ["services, as all nodes may", { resource: "services", verb: "watch" }, true],
    ["events, as all nodes may", inA("events", "", { verb: "create" }), true],
    ["write services", inA("services", "x", { verb: "update" }), ""],
    ["roles", { apiGroup: "rbac.authorization.k8s.io", resource: "clusterroles", verb: "list" }, ""],
    ["a kind that is named like what every object has", { resource: "constructor", verb: "list" }, ""],
    ["a path", { isResourceRequest: false, resource: "", path: "/metrics" }, ""],
  ])("%s", (_, asked, expected) => {
    const decision = ask(asked);
    expect(decision.allowed ? true : decision.reason).toBe(expected);
  });
});

describe("identification of nodes", () => {
  test.each<[string, UserInfo, string]>([
    ["without the group", { ...n1, groups: ["system:authenticated"] }, ""],
    ["without the name", { ...n1, username: "jane" }, ""],
    ["with an empty name", { ...n1, username: "system:node:" }, 'unknown node for user "system:node:"'],
    [
      "a node without pods",
      { ...n1, username: "system:node:n9" },
      "no relationship found between node 'n9' and this object",
    ],
  ])("%s: nothing", (_, user, reason) => {
    expect(ask(inA("secrets", "pull"), user)).toEqual({ allowed: false, reason });
  });
});

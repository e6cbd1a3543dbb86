import { beforeEach, describe, expect, test } from "vitest";
import { parseFieldSelector } from "../../../api/field-selector.ts";
import type { Pod } from "../../../api/objects.ts";
import { type Attributes, resourceAttributes } from "../attributes.ts";
import type { UserInfo } from "../user-info.ts";
import { createNodeAuthorizer } from "./node-authorizer.ts";
import { createNodeGraph, type NodeGraph } from "./node-graph.ts";
import type { PersistentVolume } from "./volume-secrets.ts";

const n1: UserInfo = { username: "system:node:n1", groups: ["system:nodes"], extra: {} };
const nowhere = "no relationship found between node 'n1' and this object";

function pod(
  name: string,
  nodeName: string,
  spec: Partial<Pod["spec"]>,
  facts: Partial<Pod["metadata"]> = {},
): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "a", uid: `${name}-1`, ...facts },
    spec: { nodeName, containers: [], serviceAccountName: "sa", ...spec },
  };
}

function volume(name: string, claim: string, secret?: string): PersistentVolume {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      claimRef: { namespace: "a", name: claim },
      csi: {
        driver: "d",
        volumeHandle: "h",
        ...(secret && { nodeStageSecretRef: { namespace: "storage", name: secret } }),
        controllerPublishSecretRef: { namespace: "storage", name: "controllers-only" },
      },
    },
  };
}

const rich = pod("rich", "n1", {
  imagePullSecrets: [{ name: "pull" }],
  volumes: [
    { name: "v1", secret: { secretName: "volume-secret" } },
    { name: "v2", configMap: { name: "volume-map" } },
    {
      name: "v3",
      projected: {
        sources: [{ secret: { name: "projected-secret" } }, { configMap: { name: "projected-map" } }],
      },
    },
    { name: "v4", persistentVolumeClaim: { claimName: "claim" } },
    { name: "scratch", ephemeral: {} },
    { name: "v5", csi: { driver: "d", nodePublishSecretRef: { name: "csi-secret" } } },
  ],
  containers: [
    {
      name: "c",
      env: [
        { name: "A", valueFrom: { secretKeyRef: { name: "env-secret", key: "k" } } },
        { name: "B", valueFrom: { configMapKeyRef: { name: "env-map", key: "k" } } },
      ],
      envFrom: [{ secretRef: { name: "env-from-secret" } }, { configMapRef: { name: "env-from-map" } }],
    },
  ],
  initContainers: [{ name: "i", envFrom: [{ secretRef: { name: "init-secret" } }] }],
});

let graph: NodeGraph;
beforeEach(() => {
  graph = createNodeGraph();
  graph.setPod(rich);
  graph.setPod(pod("other", "n2", { volumes: [{ name: "v", secret: { secretName: "n2-secret" } }] }));
  graph.setPod(pod("pending", "", { volumes: [{ name: "v", secret: { secretName: "pending-secret" } }] }));
  graph.setPod(
    pod(
      "mirror",
      "n1",
      { serviceAccountName: "stolen", volumes: [{ name: "v", secret: { secretName: "mirror-secret" } }] },
      { annotations: { "kubernetes.io/config.mirror": "x" } },
    ),
  );
  graph.setVolume(volume("pv", "claim", "pv-secret"));
  graph.setVolume(volume("other-pv", "other-claim", "other-pv-secret"));
});

function ask(asked: Partial<Attributes>, user = n1) {
  return createNodeAuthorizer(graph)(
    resourceAttributes({ user, verb: "get", resource: "secrets", ...asked }),
  );
}
const inA = (resource: string, name: string, more: Partial<Attributes> = {}) => ({
  resource,
  name,
  namespace: "a",
  ...more,
});

describe("what pods of the node need", () => {
  test.each(
    [
      [
        "pull",
        "volume-secret",
        "projected-secret",
        "csi-secret",
        "env-secret",
        "env-from-secret",
        "init-secret",
      ].map((name) => inA("secrets", name)),
      ["volume-map", "projected-map", "env-map", "env-from-map"].map((name) => inA("configmaps", name)),
      ["claim", "rich-scratch"].map((name) => inA("persistentvolumeclaims", name)),
      [inA("serviceaccounts", "sa"), inA("pods", "rich"), inA("pods", "mirror")],
      [
        { resource: "persistentvolumes", name: "pv" },
        { name: "pv-secret", namespace: "storage" },
      ],
    ].map((list) => [list] as const),
  )("%j may be got", (list) => {
    for (const asked of list) expect([asked, ask(asked)]).toEqual([asked, { allowed: true, reason: "" }]);
  });

  test.each([
    inA("secrets", "n2-secret"),
    inA("secrets", "pending-secret"),
    inA("secrets", "mirror-secret"),
    inA("secrets", "volume-map"),
    { name: "volume-secret", namespace: "b" },
    { name: "other-pv-secret", namespace: "storage" },
    { name: "controllers-only", namespace: "storage" },
    inA("configmaps", "volume-secret"),
    inA("persistentvolumeclaims", "other-claim"),
    { resource: "persistentvolumes", name: "other-pv" },
    inA("serviceaccounts", "stolen"),
    inA("pods", "other"),
    inA("pods", "pending"),
    { resource: "volumeattachments", apiGroup: "storage.k8s.io", name: "x" },
  ])("%j may not be got", (asked) => {
    expect(ask(asked)).toEqual({ allowed: false, reason: nowhere });
  });
});

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

describe("who is a node", () => {
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

describe("the graph follows events", () => {
  const allowed = (name: string) => ask(inA("secrets", name)).allowed;

  test("a deleted pod takes its needs with it, unless another has them", () => {
    graph.setPod(pod("second", "n1", { imagePullSecrets: [{ name: "pull" }] }));
    graph.deletePod("a", "rich");
    expect([allowed("volume-secret"), allowed("pull")]).toEqual([false, true]);
    graph.deletePod("a", "second");
    expect(allowed("pull")).toBe(false);
    graph.deletePod("a", "never-was");
  });

  test("a pod of the same name with another uid has other needs", () => {
    graph.setPod(pod("rich", "n1", {}, { uid: "new" }));
    expect(allowed("volume-secret")).toBe(false);
  });

  test("a pod that is bound later counts from then on", () => {
    graph.setPod(
      pod("pending", "n1", { volumes: [{ name: "v", secret: { secretName: "pending-secret" } }] }),
    );
    expect(allowed("pending-secret")).toBe(true);
  });

  test("an ephemeral container brings needs of its own", () => {
    const debug = { name: "d", envFrom: [{ secretRef: { name: "debug" } }] };
    graph.setPod({ ...rich, spec: { containers: [], ...rich.spec, ephemeralContainers: [debug] } });
    expect([allowed("debug"), allowed("volume-secret")]).toEqual([true, true]);
  });

  test("a volume that is released or gone leads nowhere", () => {
    const secret = { name: "pv-secret", namespace: "storage" };
    graph.setVolume(volume("pv", "other-claim", "pv-secret"));
    expect(ask(secret).allowed).toBe(false);
    graph.setVolume(volume("pv", "claim", "pv-secret"));
    expect(ask(secret).allowed).toBe(true);
    graph.deleteVolume("pv");
    expect(ask(secret).allowed).toBe(false);
    expect(ask({ resource: "persistentvolumes", name: "pv" }).allowed).toBe(false);
  });
});

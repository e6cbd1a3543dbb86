import type { Pod } from "../../../api/meta/objects.ts";
import type { UserInfo } from "../../request/user-info.ts";
import { type Attributes, resourceAttributes } from "../attributes.ts";
import { createNodeAuthorizer } from "./node-authorizer.ts";
import { createNodeGraph } from "./node-graph.ts";
import type { PersistentVolume } from "./pod-references.ts";

export const n1: UserInfo = { username: "system:node:n1", groups: ["system:nodes"], extra: {} };
export const nowhere = "no relationship found between node 'n1' and this object";

export function pod(
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

/** Volume that is bound to the claim, with a secret that nodes may read and one that they may not. */
export function volume(name: string, claim: string, secret?: string): PersistentVolume {
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

/** Pod that references an object of every kind. */
export const rich = pod("rich", "n1", {
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

/** Node authorizer with pods and volumes of the node n1 and of others, and functions that add and remove pods. */
export function makeNodeWorld() {
  const graph = createNodeGraph();
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
  return {
    graph,
    ask: (asked: Partial<Attributes>, user = n1) =>
      createNodeAuthorizer(graph)(resourceAttributes({ user, verb: "get", resource: "secrets", ...asked })),
  };
}

export const inA = (resource: string, name: string, more: Partial<Attributes> = {}) => ({
  resource,
  name,
  namespace: "a",
  ...more,
});

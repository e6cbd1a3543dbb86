import type { Deployment, Pod, ReplicaSet } from "../../api/meta/objects.ts";

/** Current time in unit tests of controllers. */
export const now = Date.parse("2026-01-01T12:00:00Z");
export const ago = (seconds: number) => new Date(now - seconds * 1_000).toISOString().replace(".000", "");

export interface PodParts {
  readonly name?: string;
  readonly phase?: string;
  /** Seconds since the pod became ready. Undefined for a pod that is not ready. */
  readonly readyFor?: number;
  readonly node?: string;
  readonly age?: number;
  readonly annotations?: Record<string, string>;
  readonly labels?: Record<string, string>;
  readonly deleting?: boolean;
  readonly status?: Partial<NonNullable<Pod["status"]>>;
  readonly spec?: Partial<NonNullable<Pod["spec"]>>;
}

export function podOf(parts: PodParts = {}): Pod {
  const { name = "a", readyFor, age = 1_000, annotations, labels, deleting, node = "n1" } = parts;
  const ready = {
    type: "Ready",
    status: readyFor === undefined ? "False" : "True",
    lastTransitionTime: ago(readyFor ?? 0),
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      creationTimestamp: ago(age),
      ...(annotations && { annotations }),
      ...(labels && { labels }),
      ...(deleting && { deletionTimestamp: ago(1) }),
    },
    spec: { containers: [{ name: "c", image: "web:1" }], ...(node && { nodeName: node }), ...parts.spec },
    status: { phase: parts.phase ?? "Running", conditions: [ready], ...parts.status },
  };
}

export interface SetParts {
  readonly name?: string;
  readonly replicas?: number;
  /** Value of status.availableReplicas. Defaults to `replicas`. */
  readonly available?: number;
  /** Value of status.replicas. Defaults to `replicas`. */
  readonly actual?: number;
  readonly image?: string;
  readonly age?: number;
  readonly annotations?: Record<string, string>;
  readonly generation?: number;
  readonly minReadySeconds?: number;
  readonly conditions?: NonNullable<ReplicaSet["status"]>["conditions"];
}

const templateOf = (image: string, labels: Record<string, string>) => ({
  metadata: { labels },
  spec: { containers: [{ name: "c", image }] },
});

export function setOf(parts: SetParts = {}): ReplicaSet {
  const { name = "web-1", replicas = 3, image = "web:1", age = 100, annotations, generation = 1 } = parts;
  const labels = { app: "web", "pod-template-hash": name };
  const { available = replicas, actual = replicas, conditions, minReadySeconds } = parts;
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      creationTimestamp: ago(age),
      generation,
      annotations: { "deployment.kubernetes.io/revision": "1", ...annotations },
    },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: templateOf(image, labels),
      ...(minReadySeconds !== undefined && { minReadySeconds }),
    },
    status: {
      replicas: actual,
      readyReplicas: available,
      availableReplicas: available,
      terminatingReplicas: 0,
      observedGeneration: 1,
      ...(conditions && { conditions }),
    },
  };
}

export function deploymentOf(
  spec: Partial<NonNullable<Deployment["spec"]>> & { readonly image?: string } = {},
  more: { metadata?: Partial<Deployment["metadata"]>; status?: Deployment["status"] } = {},
): Deployment {
  const { image = "web:1", ...rest } = spec;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default", uid: "uid-web", generation: 1, ...more.metadata },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "web" } },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } },
      progressDeadlineSeconds: 600,
      revisionHistoryLimit: 10,
      template: templateOf(image, { app: "web" }),
      ...rest,
    },
    ...(more.status && { status: more.status }),
  };
}

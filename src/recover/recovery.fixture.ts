import type { Pod, StatefulSet } from "../api/meta/objects.ts";

/** Time of the decisions in tests. */
export const recoveryNow = Date.parse("2026-01-01T01:00:00Z");
export const oldRevision = "web-old";
export const newRevision = "web-new";

export type Health = "ready" | "broken" | "crashing" | "starting" | "terminating" | "overdue";

/** Pod of a set with the ordinal, revision and health. */
export function makeRecoveryPod(ordinal: number, revision: string, health: Health): Pod {
  const isReady = health === "ready" || health === "terminating";
  const created = health === "starting" ? "2026-01-01T00:59:50Z" : "2026-01-01T00:00:00Z";
  const waiting = {
    broken: { reason: "CreateContainerConfigError", message: 'configmap "settings" not found' },
    crashing: { reason: "CrashLoopBackOff", message: "back-off 10s" },
  }[health as "broken" | "crashing"];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `web-${ordinal}`,
      uid: `uid-${ordinal}`,
      creationTimestamp: created,
      labels: { "controller-revision-hash": revision },
      ...(health === "terminating" && { deletionTimestamp: "2026-01-01T00:59:59Z" }),
    },
    spec: { containers: [{ name: "c" }], nodeName: "n" },
    status: {
      phase: isReady ? "Running" : "Pending",
      conditions: [{ type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: created }],
      containerStatuses: [
        {
          name: "c",
          image: "",
          imageID: "",
          ready: isReady,
          restartCount: 0,
          state: waiting ? { waiting } : { running: { startedAt: created } },
        },
      ],
    },
  };
}

interface SetFields {
  readonly replicas?: number;
  readonly strategy?: NonNullable<StatefulSet["spec"]>["updateStrategy"];
  readonly policy?: string;
  readonly currentReplicas?: number;
  readonly observedGeneration?: number;
  readonly start?: number;
  readonly updateRevision?: string;
}

/** StatefulSet `web` that is updated to `newRevision`. */
export function makeRecoverySet({ replicas = 3, start, ...fields }: SetFields = {}): StatefulSet {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", namespace: "shop", uid: "set", generation: 2 },
    spec: {
      replicas,
      selector: {},
      serviceName: "web",
      template: {},
      podManagementPolicy: fields.policy ?? "OrderedReady",
      updateStrategy: fields.strategy ?? { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
      ...(start !== undefined && { ordinals: { start } }),
    },
    status: {
      replicas,
      observedGeneration: fields.observedGeneration ?? 2,
      currentReplicas: fields.currentReplicas ?? 0,
      updateRevision: fields.updateRevision ?? newRevision,
      currentRevision: oldRevision,
    },
  };
}

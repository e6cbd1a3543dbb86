import type { Job, JobSpec, Pod } from "../../api/meta/objects.ts";
import { ago, now } from "../shared/workload.fixture.ts";
import { failureCountKey, indexKey, trackingFinalizer } from "./job-facts.ts";

export { ago, now };

const labels = { "batch.kubernetes.io/controller-uid": "uid-job" };

export function jobOf(
  spec: Partial<JobSpec> = {},
  more: { readonly status?: Job["status"]; readonly metadata?: Partial<Job["metadata"]> } = {},
): Job {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "job", namespace: "default", uid: "uid-job", ...more.metadata },
    spec: {
      parallelism: 1,
      completions: 1,
      backoffLimit: 6,
      completionMode: "NonIndexed",
      podReplacementPolicy: "TerminatingOrFailed",
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { restartPolicy: "Never", containers: [{ name: "c", image: "a" }] },
      },
      ...spec,
    },
    status: more.status ?? {},
  };
}

export interface JobPodParts {
  readonly name?: string;
  readonly phase?: string;
  readonly index?: number;
  /** Earlier failures of the index. */
  readonly failures?: number;
  readonly deleting?: boolean;
  /** Whether the pod has the tracking finalizer. Default: true. */
  readonly tracked?: boolean;
  /** Seconds since the container ended. */
  readonly endedAgo?: number;
  readonly exitCode?: number;
  readonly status?: Pod["status"];
}

export function jobPodOf(parts: JobPodParts = {}): Pod {
  const {
    name = "a",
    phase = "Running",
    index,
    failures,
    deleting,
    tracked = true,
    endedAgo = 1_000,
  } = parts;
  const hasEnded = phase === "Succeeded" || phase === "Failed";
  const exitCode = parts.exitCode ?? (phase === "Failed" ? 1 : 0);
  const state = hasEnded ? { terminated: { exitCode, finishedAt: ago(endedAgo) } } : {};
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      creationTimestamp: ago(2_000),
      labels,
      annotations: {
        ...(index !== undefined && { [indexKey]: `${index}` }),
        ...(failures !== undefined && { [failureCountKey]: `${failures}` }),
      },
      ...(deleting && { deletionTimestamp: ago(1) }),
      ...(tracked && { finalizers: [trackingFinalizer] }),
    },
    spec: { containers: [{ name: "c", image: "a" }], nodeName: "n1" },
    status: {
      phase,
      containerStatuses: [{ name: "c", image: "a", imageID: "", ready: false, restartCount: 0, state }],
      ...parts.status,
    },
  };
}

import type { Container, ContainerStatus, Pod } from "../../api/meta/objects.ts";
import { nameWorkload, workloadOf } from "../../api/pod/pod-workload.ts";
import { explainPod } from "../../explain/explain-pod.ts";
import type { PodFacts } from "../../explain/explanation.ts";
import { findBudget } from "../../explain/find-budget.ts";
import { sandboxLostMs, waterfall } from "../../explain/waterfall.ts";
import { type PodStart, stageTimes } from "../measure/start-signal.ts";
import type { FinishedView, PodView, ProbeView, PullView } from "./feed-message.ts";

export interface PodViewFacts extends PodFacts {
  readonly pulls: readonly PullView[];
  /** Creation of the pod, or removal of its last scheduling gate. Undefined while it has gates. */
  readonly beganMs?: number;
}

export function viewPod(facts: PodViewFacts): PodView {
  const { pod, events, pulls, beganMs } = facts;
  const { uid = "", namespace = "", name = "", creationTimestamp } = pod.metadata;
  return {
    uid,
    namespace,
    name,
    node: pod.spec?.nodeName,
    owner: workloadOf(pod),
    createdMs:
      sandboxLostMs(pod, events) ??
      beganMs ??
      (creationTimestamp ? Date.parse(creationTimestamp) : facts.now),
    ...explainPod(facts),
    spans: waterfall(pod, facts),
    pulls,
    probes: viewProbes(facts),
  };
}

type ProbeFacts = Pick<PodFacts, "pod" | "events" | "budgets" | "now">;

/** Startup probes that have not succeeded yet. */
export function viewProbes(facts: ProbeFacts): readonly ProbeView[] {
  return containersInStartup(facts.pod).map(({ container, startedMs }) => {
    const { failures, failureThreshold: threshold } = findBudget(facts, container, startedMs);
    const { periodSeconds = 10 } = container.startupProbe ?? {};
    return { container: container.name, failures, threshold, periodSeconds };
  });
}

/** Running containers whose startup probe has not succeeded yet. */
export function containersInStartup({ spec, status }: Pod): { container: Container; startedMs: number }[] {
  const statuses = new Map<string, ContainerStatus>(
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map((each) => [
      each.name,
      each,
    ]),
  );
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].flatMap((container) => {
    const { started, state } = statuses.get(container.name) ?? {};
    if (!container.startupProbe || started || !state?.running) return [];
    return [{ container, startedMs: Date.parse(state.running.startedAt ?? "") || 0 }];
  });
}

/** View of a finished start. Undefined if its end was not observed. */
export function viewFinished(start: PodStart): FinishedView | undefined {
  const { pod, class: of, createdMs, beganMs, userError } = start;
  const readyMs = start.ends.readiness;
  if (readyMs === undefined) return undefined;
  return {
    uid: pod.uid,
    namespace: pod.namespace,
    name: pod.name,
    node: pod.node,
    owner: nameWorkload({ kind: of.ownerKind, name: of.ownerName || pod.name, revision: of.revision }),
    revision: of.revision,
    runtimeClass: of.runtimeClass,
    storageClasses: of.storageClasses,
    createdMs: beganMs ?? createdMs,
    readyMs,
    stages: Object.fromEntries(
      stageTimes(start).map(({ stage, fromMs, untilMs }) => [stage, Math.max(0, untilMs - fromMs) / 1_000]),
    ),
    userError,
  };
}

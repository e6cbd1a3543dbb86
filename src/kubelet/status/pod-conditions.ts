import { formatTime } from "../../api/format-time.ts";
import type { ContainerStatus, PodCondition } from "../../api/objects.ts";
import { containersReady } from "./condition/containers-ready.ts";
import { failingToStart } from "./condition/failing-to-start.ts";
import { initialized } from "./condition/initialized.ts";
import { ready } from "./condition/ready.ts";
import { readyToStartContainers } from "./condition/ready-to-start-containers.ts";
import { isTrue, type Verdict } from "./condition/verdict.ts";
import { isOwnedCondition } from "./owned-conditions.ts";
import { previousOf, type StatusFacts } from "./status-facts.ts";

/** Those of others as the API has them, then the kubelet's own. */
export function podConditions(
  facts: StatusFacts,
  statuses: readonly ContainerStatus[],
  phase: string,
): PodCondition[] {
  const { pod, features } = facts;
  const spec = pod.spec ?? { containers: [] };
  const known = (pod.status ?? previousOf(facts)).conditions ?? [];
  const foreign = known.filter(({ type }) => !isOwnedCondition(type, features));
  const containers = containersReady(spec, statuses, phase);
  const own: Verdict[] = [
    ...(features.PodReadyToStartContainersCondition ? [readyToStartContainers(facts)] : []),
    initialized(spec, statuses, phase),
    ready(spec, containers, foreign),
    containers,
    isTrue("PodScheduled"),
    ...(features.PodFailingToStartCondition ? [failingToStart(statuses, phase)] : []),
  ];
  return [...foreign, ...own.map((verdict) => dated(verdict, facts))];
}

/** The time of a transition moves with the status alone, not with reason or message. */
function dated(verdict: Verdict, facts: StatusFacts): PodCondition {
  const before = previousOf(facts).conditions?.find(({ type }) => type === verdict.type);
  const { generation } = facts.pod.metadata;
  const unchanged = before?.status === verdict.status ? before.lastTransitionTime : undefined;
  return {
    ...verdict,
    lastTransitionTime: unchanged ?? formatTime(facts.now),
    ...(generation && { observedGeneration: generation }),
  };
}

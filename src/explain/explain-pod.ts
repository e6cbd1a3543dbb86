import { conditionOf, isTrue } from "../api/meta/object-facts.ts";
import type { Container, ContainerStatus } from "../api/meta/objects.ts";
import { eventTimeMs } from "../api/meta/time.ts";
import { hasEnded } from "../api/pod/pod-state.ts";
import { describeCause, type Failure, recoveryOf } from "./causes.ts";
import { inCommands } from "./commands.ts";
import { containerFailure } from "./container-failure.ts";
import { findClaimProblems } from "./explain-claim.ts";
import { explainContainer } from "./explain-container.ts";
import { explainEnd, explainOverdue, explainTermination } from "./explain-end.ts";
import { explainInit } from "./explain-init.ts";
import { explainMissingNode, withNode } from "./explain-node.ts";
import { explainScheduling } from "./explain-scheduling.ts";
import {
  type Explanation,
  joinExplanations,
  joinFixes,
  lastEvent,
  type PodFacts,
  probeKill,
  sentence,
  withMeaning,
} from "./explanation.ts";
import { adviceFor, findTight, type TightContainer } from "./startup-advice.ts";

/** Explains a pod by the first startup stage that is not complete. */
export function explainPod(facts: PodFacts): Explanation {
  const { pod } = facts;
  if (pod.metadata.deletionTimestamp) return explainTermination(facts);
  if (hasEnded(pod)) return explainEnd(facts);
  if (!pod.spec?.nodeName) return explainScheduling(facts);
  return explainMissingNode(facts) ?? withNode(facts, explainOnNode(facts));
}

/** Explains a pod by what its kubelet reports. */
function explainOnNode(facts: PodFacts): Explanation {
  const { spec, status } = facts.pod;
  const overdue = explainOverdue(facts);
  if (overdue) return overdue;
  if (!hasSandbox(facts)) return explainSandbox(facts);
  return (
    explainInit(facts) ??
    explainContainers(facts, spec?.containers ?? [], status?.containerStatuses) ??
    explainGates(facts) ??
    explainUnready(facts) ??
    explainReady(facts)
  );
}

/** Clusters before 1.29 do not have the condition; an address or a container implies a sandbox. */
function hasSandbox({ pod }: PodFacts): boolean {
  const { status } = pod;
  const condition = conditionOf(pod, "PodReadyToStartContainers");
  if (condition) return condition.status === "True";
  const ran = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return Boolean(status?.podIP) || ran.some(({ containerID }) => containerID);
}

/** Explains all failing containers, permanent failures first; without one, the first container that is not ready. */
function explainContainers(
  facts: PodFacts,
  containers: readonly Container[],
  statuses: readonly ContainerStatus[] = [],
): Explanation | undefined {
  const { pod, now } = facts;
  const statusOf = (container: Container) => statuses.find(({ name }) => name === container.name);
  const isDone = (container: Container) => statusOf(container)?.state?.terminated?.exitCode === 0;
  const found = containers
    .toSorted((a, b) => Number(isDone(a)) - Number(isDone(b)))
    .flatMap((container) => {
      const status = statusOf(container);
      const explanation = explainContainer(facts, container, status);
      if (!explanation) return [];
      const isFailing =
        explanation.stage === "crashing" ||
        (status !== undefined && containerFailure(pod, status, { now }) !== undefined);
      return [{ explanation, isFailing }];
    });
  const failing = found.filter(({ isFailing }) => isFailing).map(({ explanation }) => explanation);
  const [first, ...others] = failing.toSorted((a, b) => Number(a.isTransient) - Number(b.isTransient));
  return first ? joinExplanations([first, ...others]) : found[0]?.explanation;
}

function explainGates({ pod }: PodFacts): Explanation | undefined {
  const closed = pod.spec?.readinessGates?.find(({ conditionType }) => !isTrue(pod, conditionType));
  return (
    closed && {
      stage: "readiness",
      since: conditionOf(pod, "ContainersReady")?.lastTransitionTime ?? undefined,
      because: `All containers are ready; the readiness gate ${closed.conditionType} is not True.`,
      isTransient: true,
      resolvesWhen: "when that condition becomes True",
      fix: `the controller that owns the gate has to set the condition ${closed.conditionType} in the pod's status`,
    }
  );
}

/** Pods of a silent node are marked not ready by a controller; their container statuses are outdated. */
function explainUnready({ pod }: PodFacts): Explanation | undefined {
  const ready = conditionOf(pod, "Ready");
  if (!ready || ready.status === "True") return undefined;
  const said = ready.message ?? ready.reason;
  return {
    stage: "readiness",
    since: ready.lastTransitionTime ?? undefined,
    because: sentence(
      said
        ? `The pod is not ready: ${said}`
        : "The pod is no longer ready, although its containers were ready in the last status of its kubelet",
    ),
    isTransient: true,
    resolvesWhen: "when its kubelet reports that it is ready",
    fix: `check its node: kubectl get node ${pod.spec?.nodeName}`,
  };
}

function explainReady(facts: PodFacts): Explanation {
  const { pod } = facts;
  const ready = conditionOf(pod, "Ready");
  const restarted = pod.status?.containerStatuses?.find(({ restartCount }) => restartCount > 0);
  const tight = findTight(facts);
  const said = [restarted && describeRestarts(facts, restarted), tight && describeTightBudget(tight)].filter(
    Boolean,
  );
  const why =
    restarted && `see why it exited: kubectl logs ${inCommands(pod)} -c ${restarted.name} --previous`;
  const advice = tight && adviceFor(facts, tight.name);
  return {
    stage: "ready",
    since: ready?.lastTransitionTime ?? undefined,
    because: `${["The pod is ready", ...said].join("; ")}.`,
    isTransient: true,
    fix: joinFixes([advice, why]),
  };
}

function describeTightBudget({ name, slowestSeconds, allowedSeconds }: TightContainer): string {
  return `container ${name} took up to ${slowestSeconds.toFixed(1)} s to start; a probe kills it after ${allowedSeconds} s`;
}

/** Describes the restarts of a container in a pod that is ready. */
function describeRestarts(facts: PodFacts, { name, restartCount, lastState }: ContainerStatus): string {
  const last = lastState?.terminated;
  const times = restartCount === 1 ? "once" : `${restartCount} times`;
  const kill = probeKill(facts, name);
  const why = kill ? `: it ${kill}` : "";
  return `container ${name} was restarted ${times}${last ? `, the last time after exit code ${last.exitCode}${why}` : ""}`;
}

/** Explains a scheduled pod whose volumes, network and sandbox are not ready. */
function explainSandbox(facts: PodFacts): Explanation {
  const { pod } = facts;
  const condition = conditionOf(pod, "PodReadyToStartContainers");
  const scheduled = conditionOf(pod, "PodScheduled");
  const since =
    condition?.lastTransitionTime ?? scheduled?.lastTransitionTime ?? pod.metadata.creationTimestamp;
  const [claim] = findClaimProblems(facts);
  if (claim) return { stage: "volumes", since, ...claim };
  const problem = sandboxProblem(facts);
  if (!problem) {
    const node = pod.spec?.nodeName;
    const because = condition
      ? `Node ${node} is preparing the pod's volumes, network and sandbox.`
      : `The kubelet of ${node} has not started to process the pod.`;
    const fix = condition ? undefined : `if this persists, check the node: kubectl get node ${node}`;
    const resolvesWhen = condition ? "in a moment" : "when the kubelet processes it";
    return { stage: "sandbox", since, because, isTransient: true, resolvesWhen, fix };
  }
  const { explanation, fix } = describeCause(problem, { pod, container: undefined });
  const isPermanent = recoveryOf(problem) === "permanent";
  const isSandbox = problem.reason === "FailedCreatePodSandBox";
  return {
    stage: isSandbox ? "sandbox" : "volumes",
    since,
    because: withMeaning(problem.message, explanation),
    isTransient: !isPermanent,
    ...(!isPermanent && {
      resolvesWhen: isSandbox
        ? "when the node's network and runtime work; the kubelet retries"
        : "when the volume becomes available; the kubelet retries",
    }),
    fix,
  };
}

/** Problem from the condition, where only Kindling's kubelet reports it, else from the newest event. */
function sandboxProblem(facts: PodFacts): Failure | undefined {
  const condition = conditionOf(facts.pod, "PodReadyToStartContainers");
  const reasons = ["FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox"];
  if (condition?.reason && reasons.includes(condition.reason) && condition.message) {
    return { reason: condition.reason, message: condition.message };
  }
  const event = lastEvent(facts, ...reasons);
  // Events from before the sandbox was last ready are outdated.
  const before = condition?.status === "True" ? Date.parse(condition.lastTransitionTime ?? "") : 0;
  if (!event?.message || eventTimeMs(event) < before) return undefined;
  return { reason: event.reason ?? "", message: event.message };
}

import { conditionOf, isTrue } from "../../api/conditions.ts";
import type { Container, ContainerStatus } from "../../api/objects.ts";
import { hasEnded } from "../../api/pod-phase.ts";
import { isSidecar } from "../../api/pod-resources.ts";
import { explainContainer } from "./explain-container.ts";
import { explainEnd, explainLeaving, explainOverdue } from "./explain-end.ts";
import { explainSandbox } from "./explain-sandbox.ts";
import { explainScheduling } from "./explain-scheduling.ts";
import { type Explanation, inCommands, type PodFacts, probeKill, sentence } from "./explanation.ts";
import { adviceFor, findTight, type TightContainer } from "./startup-advice.ts";

/** Why a pod is where it is: the first thing on its way to Ready that is not done. */
export function explainPod(facts: PodFacts): Explanation {
  const { pod } = facts;
  if (pod.metadata.deletionTimestamp) return explainLeaving(facts);
  if (hasEnded(pod)) return explainEnd(facts);
  if (!pod.spec?.nodeName) return explainScheduling(facts);
  const overdue = explainOverdue(facts);
  if (overdue) return overdue;
  if (!hasSandbox(facts)) return explainSandbox(facts);
  return (
    explainInit(facts) ??
    explainContainers(facts, pod.spec.containers, pod.status?.containerStatuses) ??
    explainGates(facts) ??
    explainUnready(facts) ??
    explainReady(facts)
  );
}

/** Clusters before 1.29 have no condition for it: there an address or a container tells. */
function hasSandbox({ pod }: PodFacts): boolean {
  const { status } = pod;
  const condition = conditionOf(pod, "PodReadyToStartContainers");
  if (condition) return condition.status === "True";
  const ran = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return Boolean(status?.podIP) || ran.some(({ containerID }) => containerID);
}

function explainInit(facts: PodFacts): Explanation | undefined {
  const statuses = facts.pod.status?.initContainerStatuses ?? [];
  for (const container of facts.pod.spec?.initContainers ?? []) {
    const status = statuses.find(({ name }) => name === container.name);
    if (status?.state?.terminated?.exitCode === 0) continue;
    if (isSidecar(container) && status?.started) continue;
    if (status?.state?.running && !isSidecar(container)) {
      return {
        stage: "init",
        since: status.state.running.startedAt ?? undefined,
        because: `Init container ${container.name} runs; the others wait for its end.`,
        healsByItself: true,
        healsWhen: "when it ends with exit code 0",
        fix: `its log: kubectl logs ${inCommands(facts.pod)} -c ${container.name}`,
      };
    }
    return explainContainer(facts, container, status);
  }
  return undefined;
}

/** The one that helps most to know: what cannot heal by itself comes first, what has done its work last. */
function explainContainers(
  facts: PodFacts,
  containers: readonly Container[],
  statuses: readonly ContainerStatus[] = [],
): Explanation | undefined {
  const statusOf = (container: Container) => statuses.find(({ name }) => name === container.name);
  const isDone = (container: Container) => statusOf(container)?.state?.terminated?.exitCode === 0;
  const found = containers
    .toSorted((a, b) => Number(isDone(a)) - Number(isDone(b)))
    .flatMap((container) => explainContainer(facts, container, statusOf(container)) ?? []);
  return found.find(({ healsByItself }) => !healsByItself) ?? found[0];
}

function explainGates({ pod }: PodFacts): Explanation | undefined {
  const closed = pod.spec?.readinessGates?.find(({ conditionType }) => !isTrue(pod, conditionType));
  return (
    closed && {
      stage: "readiness",
      since: conditionOf(pod, "ContainersReady")?.lastTransitionTime ?? undefined,
      because: `All containers are ready; the readiness gate ${closed.conditionType} is not True.`,
      healsByItself: true,
      healsWhen: "when that condition becomes True",
      fix: `whoever owns the gate sets the condition ${closed.conditionType} in the pod's status`,
    }
  );
}

/** When a node falls silent, its pods are marked from outside; what they say of their containers is what was. */
function explainUnready({ pod }: PodFacts): Explanation | undefined {
  const ready = conditionOf(pod, "Ready");
  if (!ready || ready.status === "True") return undefined;
  const said = ready.message ?? ready.reason;
  return {
    stage: "readiness",
    since: ready.lastTransitionTime ?? undefined,
    because: sentence(
      said
        ? `It is not ready: ${said}`
        : "It is not ready any more, though its containers were when its kubelet last told of them",
    ),
    healsByItself: true,
    healsWhen: "when its kubelet says that it is",
    fix: `see that its node lives: kubectl get node ${pod.spec?.nodeName}`,
  };
}

function explainReady(facts: PodFacts): Explanation {
  const { pod } = facts;
  const ready = conditionOf(pod, "Ready");
  const restarted = pod.status?.containerStatuses?.find(({ restartCount }) => restartCount > 0);
  const tight = findTight(facts);
  const said = [restarted && restartWords(facts, restarted), tight && tightWords(tight)].filter(Boolean);
  const why = restarted && `why it ended: kubectl logs ${inCommands(pod)} -c ${restarted.name} --previous`;
  const advice = tight && adviceFor(facts, tight.name);
  return {
    stage: "ready",
    since: ready?.lastTransitionTime ?? undefined,
    because: `${["It is ready", ...said].join("; ")}.`,
    healsByItself: true,
    fix: advice && why ? `${advice}; ${why}` : (advice ?? why),
  };
}

function tightWords({ name, slowestSeconds, allowedSeconds }: TightContainer): string {
  return `container ${name} has taken up to ${slowestSeconds.toFixed(1)} s to start, and after ${allowedSeconds} s a probe would have ended it`;
}

/** A pod that is ready between two deaths is worth a word. */
function restartWords(facts: PodFacts, { name, restartCount, lastState }: ContainerStatus): string {
  const last = lastState?.terminated;
  const times = restartCount === 1 ? "once" : `${restartCount} times`;
  const kill = probeKill(facts, name);
  const why = kill ? `: it ${kill}` : "";
  return `container ${name} was restarted ${times}${last ? `, the last time after exit code ${last.exitCode}${why}` : ""}`;
}

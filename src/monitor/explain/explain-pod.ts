import type { Container, ContainerStatus } from "../../api/objects.ts";
import { isSidecar } from "../../api/pod-resources.ts";
import { explainContainer } from "./explain-container.ts";
import { explainEnd, explainLeaving, explainOverdue } from "./explain-end.ts";
import { explainSandbox } from "./explain-sandbox.ts";
import { explainScheduling } from "./explain-scheduling.ts";
import { type Explanation, inCommands, type PodFacts, probeKill } from "./explanation.ts";

/** Why a pod is where it is: the first thing on its way to Ready that is not done. */
export function explainPod(facts: PodFacts): Explanation {
  const { pod } = facts;
  if (pod.metadata.deletionTimestamp) return explainLeaving(facts);
  if (pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed") return explainEnd(facts);
  if (!pod.spec?.nodeName) return explainScheduling(facts);
  const overdue = explainOverdue(facts);
  if (overdue) return overdue;
  if (!hasSandbox(facts)) return explainSandbox(facts);
  return (
    explainInit(facts) ??
    explainContainers(facts, pod.spec.containers, pod.status?.containerStatuses) ??
    explainGates(facts) ??
    explainReady(facts)
  );
}

/** Clusters before 1.29 have no condition for it: there an address or a container tells. */
function hasSandbox({ pod: { status } }: PodFacts): boolean {
  const condition = status?.conditions?.find(({ type }) => type === "PodReadyToStartContainers");
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

/** The one that helps most to know: what cannot heal by itself comes first. */
function explainContainers(
  facts: PodFacts,
  containers: readonly Container[],
  statuses: readonly ContainerStatus[] = [],
): Explanation | undefined {
  const found = containers.flatMap((container) => {
    const status = statuses.find(({ name }) => name === container.name);
    return explainContainer(facts, container, status) ?? [];
  });
  return found.find(({ healsByItself }) => !healsByItself) ?? found[0];
}

function explainGates({ pod }: PodFacts): Explanation | undefined {
  const conditions = pod.status?.conditions ?? [];
  const closed = (pod.spec?.readinessGates ?? []).find(
    ({ conditionType }) => conditions.find(({ type }) => type === conditionType)?.status !== "True",
  );
  return (
    closed && {
      stage: "readiness",
      since: conditions.find(({ type }) => type === "ContainersReady")?.lastTransitionTime ?? undefined,
      because: `All containers are ready; the readiness gate ${closed.conditionType} is not True.`,
      healsByItself: true,
      healsWhen: "when that condition becomes True",
      fix: `whoever owns the gate sets the condition ${closed.conditionType} in the pod's status`,
    }
  );
}

function explainReady(facts: PodFacts): Explanation {
  const { pod } = facts;
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
  const restarted = pod.status?.containerStatuses?.find(({ restartCount }) => restartCount > 0);
  return {
    stage: "ready",
    since: ready?.lastTransitionTime ?? undefined,
    because: `It is ready${restarted ? `; ${restartWords(facts, restarted)}` : ""}.`,
    healsByItself: true,
    fix: restarted && `why it ended: kubectl logs ${inCommands(pod)} -c ${restarted.name} --previous`,
  };
}

/** A pod that is ready between two deaths is worth a word. */
function restartWords(facts: PodFacts, { name, restartCount, lastState }: ContainerStatus): string {
  const last = lastState?.terminated;
  const times = restartCount === 1 ? "once" : `${restartCount} times`;
  const kill = probeKill(facts, name);
  const why = kill ? `: it ${kill}` : "";
  return `container ${name} was restarted ${times}${last ? `, the last time after exit code ${last.exitCode}${why}` : ""}`;
}

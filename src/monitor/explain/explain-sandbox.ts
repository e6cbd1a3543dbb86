import { eventTimeMs } from "../event-time.ts";
import {
  type Explanation,
  inCommands,
  lastEvent,
  namespaceFlag,
  type PodFacts,
  sentence,
} from "./explanation.ts";

const missingObject = /(secret|configmap) "([^"]+)" not found/i;

/** A pod that has a node, and not yet all that its containers are started in: volumes, network, sandbox. */
export function explainSandbox(facts: PodFacts): Explanation {
  const { pod } = facts;
  const condition = pod.status?.conditions?.find(({ type }) => type === "PodReadyToStartContainers");
  const scheduled = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
  const since =
    condition?.lastTransitionTime ?? scheduled?.lastTransitionTime ?? pod.metadata.creationTimestamp;
  const problem = sandboxProblem(facts);
  if (!problem) {
    const node = pod.spec?.nodeName;
    const because = condition
      ? `The node ${node} is making its volumes, network and sandbox.`
      : `The kubelet of ${node} has not begun with it.`;
    const fix = condition ? undefined : `if it stays so, see that the node lives: kubectl get node ${node}`;
    const healsWhen = condition ? "in a moment" : "when the node's kubelet takes it up";
    return { stage: "sandbox", since, because, healsByItself: true, healsWhen, fix };
  }
  const { reason, message } = problem;
  const because = sentence(message);
  if (reason === "FailedCreatePodSandBox") {
    const fix = /handler|runtimeclass|no runtime for/i.test(message)
      ? "correct spec.runtimeClassName, or give the node's runtime that handler: kubectl get runtimeclasses"
      : `look at the network plugin and the runtime of node ${pod.spec?.nodeName}`;
    const healsWhen = "when the node's network and runtime are well; it is tried again";
    return { stage: "sandbox", since, because, healsByItself: true, healsWhen, fix };
  }
  const [, kind, name] = missingObject.exec(message) ?? [];
  const create = kind?.toLowerCase() === "secret" ? "secret generic" : "configmap";
  const fix = name
    ? `create it, and the pod starts by itself: kubectl create ${create} ${name}${namespaceFlag(pod)} --from-literal=KEY=VALUE`
    : `look at its volumes: kubectl describe pod ${inCommands(pod)}`;
  const healing = name
    ? { healsByItself: false }
    : { healsByItself: true, healsWhen: "when the volume can be had; it is tried again" };
  return { stage: "volumes", since, because, ...healing, fix };
}

/** From the condition, which says why since it is Kindling's kubelet; else from the newest event about it. */
function sandboxProblem(facts: PodFacts): { reason: string; message: string } | undefined {
  const condition = facts.pod.status?.conditions?.find(({ type }) => type === "PodReadyToStartContainers");
  const reasons = ["FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox"];
  if (condition?.reason && reasons.includes(condition.reason) && condition.message) {
    return { reason: condition.reason, message: condition.message };
  }
  const event = lastEvent(facts, ...reasons);
  // What failed before the sandbox stood the last time is history.
  const before = condition?.status === "True" ? Date.parse(condition.lastTransitionTime ?? "") : 0;
  if (!event?.message || eventTimeMs(event) < before) return undefined;
  return { reason: event.reason ?? "", message: event.message };
}

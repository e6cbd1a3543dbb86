import { conditionOf } from "../../api/conditions.ts";
import { eventTimeMs } from "../event-time.ts";
import { type Explanation, inCommands, lastEvent, type PodFacts, sentence } from "./explanation.ts";
import { fixMissingObject } from "./missing-object.ts";

/** A pod that has a node, and not yet all that its containers are started in: volumes, network, sandbox. */
export function explainSandbox(facts: PodFacts): Explanation {
  const { pod } = facts;
  const condition = conditionOf(pod, "PodReadyToStartContainers");
  const scheduled = conditionOf(pod, "PodScheduled");
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
  const missing = fixMissingObject(pod, message);
  if (missing) return { stage: "volumes", since, because, healsByItself: false, fix: missing };
  const healsWhen = "when the volume can be had; it is tried again";
  const fix = `look at its volumes: kubectl describe pod ${inCommands(pod)}`;
  return { stage: "volumes", since, because, healsByItself: true, healsWhen, fix };
}

/** From the condition, which says why since it is Kindling's kubelet; else from the newest event about it. */
function sandboxProblem(facts: PodFacts): { reason: string; message: string } | undefined {
  const condition = conditionOf(facts.pod, "PodReadyToStartContainers");
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

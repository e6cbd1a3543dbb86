import { conditionOf, controllerOf } from "../api/meta/object-facts.ts";
import type { Node } from "../api/meta/objects.ts";
import { inCommands } from "./commands.ts";
import { type Explanation, joinFixes, type PodFacts, sentence } from "./explanation.ts";

/** Why the kubelet of the pod's node does not run. Undefined if the node is ready or was not read. */
export function describeLostNode({
  pod,
  node,
}: PodFacts): { readonly because: string; readonly fix: string } | undefined {
  const name = pod.spec?.nodeName ?? "";
  if (!name || !node) return undefined;
  if (node.kind === "missing") {
    return { because: `node ${name} does not exist`, fix: "check the nodes: kubectl get nodes" };
  }
  const ready = conditionOf(node.object, "Ready");
  if (!ready || ready.status === "True") return undefined;
  const said = [ready.reason, ready.message].filter(Boolean).join(": ").replace(/\.$/, "");
  return {
    because: `node ${name} is not ready${said ? ` (${said})` : ""}`,
    fix: `check the node: kubectl describe node ${name}`,
  };
}

/** Explains a pod whose node does not exist. Undefined if it exists or was not read. */
export function explainMissingNode({ pod, node }: PodFacts): Explanation | undefined {
  if (node?.kind !== "missing") return undefined;
  const name = pod.spec?.nodeName;
  const isRecreated = controllerOf(pod) !== undefined;
  return {
    stage: "sandbox",
    since: conditionOf(pod, "PodScheduled")?.lastTransitionTime ?? pod.metadata.creationTimestamp,
    because: `The pod is bound to node ${name}, which does not exist.`,
    isTransient: false,
    fix: isRecreated
      ? `let its controller create it on another node: kubectl delete pod ${inCommands(pod)} --force --grace-period=0`
      : "create the pod again without spec.nodeName, or with the name of a node: kubectl get nodes",
  };
}

/** Adds to the explanation of a pod that is not ready that its node is not ready either: the pod's status is outdated. */
export function withNode(facts: PodFacts, explanation: Explanation): Explanation {
  const lost = describeLostNode(facts);
  const { stage, because, isTransient, fix } = explanation;
  if (!lost || stage === "ready") return explanation;
  const node = conditionIn(facts.node);
  const said = node === "Unknown" ? `In its last known status: ${because}` : because;
  return {
    ...explanation,
    because: `${sentence(capitalized(lost.because))} ${said}`,
    ...(isTransient && { resolvesWhen: "when the node is ready again" }),
    fix: joinFixes([lost.fix, isTransient ? undefined : fix]),
  };
}

function conditionIn(node: PodFacts["node"]): string | undefined {
  const object: Node | undefined = node?.kind === "found" ? node.object : undefined;
  return object && conditionOf(object, "Ready")?.status;
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

import { type Explanation, lastEvent, namespaceFlag, type PodFacts } from "./explanation.ts";

/** What a scheduler's words ask for, by a part of them. */
const remedies: readonly { readonly says: RegExp; readonly fix: (flag: string) => string }[] = [
  {
    says: /Insufficient (\S+?)[,.]/,
    fix: () => "lower resources.requests of the pod, remove others, or add a node: kubectl describe nodes",
  },
  {
    says: /untolerated taint/,
    fix: () => "tolerate the taint in spec.tolerations, or take it away: kubectl taint nodes NODE KEY-",
  },
  {
    says: /node affinity|selector/,
    fix: () => "compare spec.nodeSelector and spec.affinity with: kubectl get nodes --show-labels",
  },
  {
    says: /PersistentVolumeClaim|persistentvolumeclaim/,
    fix: (flag) => `look at its claims: kubectl get pvc${flag}`,
  },
  { says: /unschedulable/, fix: () => "let pods on a node again: kubectl uncordon NODE" },
  { says: /free ports/, fix: () => "use another hostPort, or remove the pod that has it" },
];

/** A pod that has no node yet. */
export function explainScheduling(facts: PodFacts): Explanation {
  const { pod } = facts;
  const condition = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
  const common = {
    stage: "scheduling",
    since: condition?.lastTransitionTime ?? pod.metadata.creationTimestamp,
  } as const;
  if (condition?.reason === "SchedulingGated") {
    const gates = (pod.spec?.schedulingGates ?? []).map(({ name }) => name).join(", ");
    return {
      ...common,
      because: `It is held back by scheduling gates: ${gates}.`,
      healsByItself: false,
      fix: "whoever set the gates removes them from spec.schedulingGates when its part is done",
    };
  }
  const message = condition?.message ?? lastEvent(facts, "FailedScheduling")?.message;
  if (!message) {
    const scheduler = pod.spec?.schedulerName ?? "default-scheduler";
    return {
      ...common,
      because: `No scheduler has looked at it yet; it waits for ${scheduler}.`,
      healsByItself: true,
      fix: `if it stays so, see that ${scheduler} runs, or correct spec.schedulerName`,
    };
  }
  const remedy = remedies.find(({ says }) => says.test(message));
  // A cluster changes: what does not fit now may fit when another pod goes or a node comes.
  return { ...common, because: message, healsByItself: true, fix: remedy?.fix(namespaceFlag(pod)) };
}

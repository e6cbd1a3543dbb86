import { conditionOf } from "../../api/conditions.ts";
import { type Explanation, lastEvent, namespaceFlag, type PodFacts, sentence } from "./explanation.ts";

interface Remedy {
  readonly says: RegExp;
  readonly healsWhen: string;
  readonly fix: (flag: string) => string;
}

/** What a scheduler's words ask for, by a part of them. */
const remedies: readonly Remedy[] = [
  {
    says: /Insufficient (\S+?)[,.]/,
    healsWhen: "when other pods go or a node with more room comes",
    fix: () => "lower resources.requests of the pod, remove others, or add a node: kubectl describe nodes",
  },
  {
    says: /untolerated taint/,
    healsWhen: "when the taint goes or another node comes",
    fix: () => "tolerate the taint in spec.tolerations, or take it away: kubectl taint nodes NODE KEY-",
  },
  {
    says: /node affinity|selector/,
    healsWhen: "when a node has these labels",
    fix: () => "compare spec.nodeSelector and spec.affinity with: kubectl get nodes --show-labels",
  },
  {
    says: /PersistentVolumeClaim|persistentvolumeclaim/,
    healsWhen: "when its claims are bound",
    fix: (flag) => `look at its claims: kubectl get pvc${flag}`,
  },
  {
    says: /unschedulable/,
    healsWhen: "when a node takes pods again",
    fix: () => "let pods on a node again: kubectl uncordon NODE",
  },
  {
    says: /free ports/,
    healsWhen: "when the pod that has the port goes",
    fix: () => "use another hostPort, or remove the pod that has it",
  },
];

const missingClaim = /persistentvolumeclaim "([^"]+)" not found/i;

/** A pod that has no node yet. */
export function explainScheduling(facts: PodFacts): Explanation {
  const { pod } = facts;
  const condition = conditionOf(pod, "PodScheduled");
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
      healsWhen: "when that scheduler takes it up",
      fix: `if it stays so, see that ${scheduler} runs, or correct spec.schedulerName`,
    };
  }
  const [, claim] = missingClaim.exec(message) ?? [];
  if (claim) {
    return {
      ...common,
      because: `It mounts the claim "${claim}", which does not exist.`,
      healsByItself: false,
      fix: `create the PersistentVolumeClaim ${claim}, or correct spec.volumes in a new pod: kubectl get pvc${namespaceFlag(pod)}`,
    };
  }
  const remedy = remedies.find(({ says }) => says.test(message));
  // A cluster changes: what does not fit now may fit when another pod goes or a node comes.
  const healsWhen = remedy?.healsWhen ?? "when the cluster changes";
  return {
    ...common,
    because: sentence(withoutAside(message)),
    healsByItself: true,
    healsWhen,
    fix: remedy?.fix(namespaceFlag(pod)),
  };
}

/** Upstream's schedulers add what they tried beside: "no new claims to deallocate", "preemption: …". */
function withoutAside(message: string): string {
  return message.replace(/\.? (no new claims to deallocate|preemption: ).*$/s, "");
}

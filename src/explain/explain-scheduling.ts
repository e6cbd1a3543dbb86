import { conditionOf } from "../api/meta/object-facts.ts";
import { namespaceFlag } from "./commands.ts";
import { type ClaimProblem, findClaimProblems, missingClaim } from "./explain-claim.ts";
import { type Explanation, joinFixes, lastEvent, type PodFacts, sentence } from "./explanation.ts";

const missingName = /persistentvolumeclaim "([^"]+)" not found/i;

/** Explains a pod that is not scheduled. */
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
      because: `Scheduling gates keep the pod from being scheduled: ${gates}.`,
      isTransient: false,
      fix: "the controller that set the gates has to remove them from spec.schedulingGates",
    };
  }
  const message = condition?.message ?? lastEvent(facts, "FailedScheduling")?.message;
  if (!message) {
    const scheduler = pod.spec?.schedulerName ?? "default-scheduler";
    return {
      ...common,
      because: `No scheduler has processed the pod yet; it is assigned to ${scheduler}.`,
      isTransient: true,
      resolvesWhen: "when that scheduler processes it",
      fix: `if this persists, check that ${scheduler} is running, or correct spec.schedulerName`,
    };
  }
  const problems = claimProblems(facts, message);
  if (problems.some(({ isTransient }) => !isTransient)) {
    return {
      ...common,
      because: problems.map(({ because }) => because).join(" "),
      isTransient: false,
      fix: joinFixes(problems.map(({ fix }) => fix)),
    };
  }
  const remedies = remediesFor(withoutPreemption(message), namespaceFlag(pod));
  // A pod that does not fit now may fit after other pods are deleted or nodes join.
  const changes = [...new Set(remedies.map(({ resolvesWhen }) => resolvesWhen))];
  return {
    ...common,
    because: [sentence(withoutPreemption(message)), ...problems.map(({ because }) => because)].join(" "),
    isTransient: true,
    resolvesWhen: changes.length > 0 ? `when ${changes.join(", or ")}` : "when the cluster changes",
    fix: joinFixes([...problems.map(({ fix }) => fix), ...remedies.map(({ fix }) => fix)]),
  };
}

/** Problems of the pod's claims; without the claims themselves, a missing one that the scheduler names. */
function claimProblems(facts: PodFacts, message: string): readonly ClaimProblem[] {
  const found = findClaimProblems(facts);
  const [, name] = missingName.exec(message) ?? [];
  return found.length === 0 && name ? [missingClaim(facts.pod, name)] : found;
}

/** Removes what upstream's scheduler appends about preemption and claims. */
function withoutPreemption(message: string): string {
  return message.replace(/\.? (no new claims to deallocate|preemption: ).*$/s, "");
}

/** Reason of the scheduler for not placing a pod, with what resolves it. */
interface SchedulerReason {
  /** Text in the scheduler's message. */
  readonly message: RegExp;
  readonly resolvesWhen: string;
  /** `details` are the distinct first groups of all matches. */
  readonly fix: (context: { readonly flag: string; readonly details: readonly string[] }) => string;
}

/** Reasons of the scheduler. Several can apply at once: one for each group of nodes. */
const schedulerReasons: readonly SchedulerReason[] = [
  {
    message: /Insufficient ([^\s,]+?)(?=[,.]?(?:\s|$))/g,
    resolvesWhen: "other pods are deleted or a node with enough resources joins",
    fix: ({ details }) =>
      `lower ${details.map((name) => `resources.requests.${name}`).join(" and ")} of the pod, delete other pods, or add a node: kubectl describe nodes`,
  },
  {
    message: /Too many pods/g,
    resolvesWhen: "other pods are deleted or a node joins",
    fix: () => "delete other pods, or add a node: kubectl describe nodes",
  },
  {
    message: /untolerated taint(?:\(s\))?(?: \{(node\.kubernetes\.io\/(?:not-ready|unreachable))\b[^}]*\})/g,
    resolvesWhen: "the node is ready again",
    fix: () => "find out why the node is not ready: kubectl get nodes",
  },
  {
    message: /untolerated taint(?:\(s\)| \{(?!node\.kubernetes\.io\/(?:not-ready|unreachable))([^\s:}]+))/g,
    resolvesWhen: "the taint is removed or another node joins",
    fix: ({ details: [key] }) =>
      `tolerate the taint in spec.tolerations, or remove it: kubectl taint nodes NODE ${key ?? "KEY"}-`,
  },
  {
    message: /node affinity\/selector|node\(s\) didn't match node selector|plugin\(s\) \[NodeAffinity\]/g,
    resolvesWhen: "a node has these labels",
    fix: () => "compare spec.nodeSelector and spec.affinity with: kubectl get nodes --show-labels",
  },
  {
    message: /pod affinity rules|anti-affinity rules/g,
    resolvesWhen: "pods that its affinity rules require or exclude change",
    fix: ({ flag }) =>
      `compare spec.affinity of the pod with the labels of other pods: kubectl get pods${flag} --show-labels -o wide`,
  },
  {
    message: /topology spread constraints/g,
    resolvesWhen: "pods are spread more evenly or a node joins",
    fix: () =>
      "relax spec.topologySpreadConstraints (whenUnsatisfiable: ScheduleAnyway), or add a node: kubectl get nodes --show-labels",
  },
  {
    message: /volume node affinity conflict|PersistentVolume's node affinity|no available volume zone/g,
    resolvesWhen: "a node that reaches its volume is available",
    fix: ({ flag }) => `find the node or zone of its volume: kubectl get pvc,pv${flag} -o wide`,
  },
  {
    message: /exceed max volume count/g,
    resolvesWhen: "other pods with volumes are deleted",
    fix: () => "delete other pods with volumes, or add a node: kubectl get volumeattachments",
  },
  {
    message: /ReadWriteOncePod access mode already in-use/g,
    resolvesWhen: "the other pod that uses the claim is deleted",
    fix: ({ flag }) => `delete the other pod that uses the claim: kubectl describe pvc${flag}`,
  },
  {
    message:
      /unbound immediate PersistentVolumeClaims|persistent volumes to bind|non-existent p(?:v|ersistentvolume)/g,
    resolvesWhen: "its claims are bound",
    fix: ({ flag }) => `check its claims: kubectl get pvc${flag}`,
  },
  {
    message: /node\(s\) were unschedulable|\{node\.kubernetes\.io\/unschedulable/g,
    resolvesWhen: "a node becomes schedulable",
    fix: () => "make a node schedulable: kubectl uncordon NODE",
  },
  {
    message: /free ports/g,
    resolvesWhen: "the pod that uses the port is deleted",
    fix: () => "use another hostPort, or delete the pod that uses it",
  },
  {
    message: /no nodes available to schedule pods|^0\/0 nodes/g,
    resolvesWhen: "a node joins",
    fix: () => "add a node: kubectl get nodes",
  },
];

/** Fixes of all reasons in a message of the scheduler. */
function remediesFor(
  message: string,
  flag: string,
): readonly { readonly resolvesWhen: string; readonly fix: string }[] {
  return schedulerReasons.flatMap(({ message: expression, resolvesWhen, fix }) => {
    const found = [...message.matchAll(expression)];
    if (found.length === 0) return [];
    const details = [...new Set(found.flatMap(([, detail]) => detail ?? []))];
    return [{ resolvesWhen, fix: fix({ flag, details }) }];
  });
}

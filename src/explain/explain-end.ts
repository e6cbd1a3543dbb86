import type { Pod } from "../api/meta/objects.ts";
import { formatTime } from "../api/meta/time.ts";
import { inCommands } from "./commands.ts";
import { describeLostNode } from "./explain-node.ts";
import { type Explanation, joinFixes, type PodFacts, sentence } from "./explanation.ts";

export function explainEnd({ pod }: PodFacts): Explanation {
  const { phase, reason, message } = pod.status ?? {};
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const failed = statuses.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  const ends = statuses.flatMap(({ state }) => state?.terminated?.finishedAt ?? []);
  const exit = failed && `container ${failed.name} exited with code ${failed.state?.terminated?.exitCode}`;
  // The kubelet's message about the pod explains the exit codes, not vice versa.
  const how = reason ? (message ?? exit) : (exit ?? message);
  const because =
    phase === "Succeeded"
      ? "All containers have completed."
      : sentence(`The pod failed${reason ? ` (${reason})` : ""}${how ? `: ${how}` : ""}`);
  return {
    stage: "ended",
    since: ends.toSorted((a, b) => Date.parse(b) - Date.parse(a))[0],
    because,
    isTransient: phase === "Succeeded",
    fix:
      reason === "DeadlineExceeded"
        ? "raise spec.activeDeadlineSeconds in a new pod, or find out why it takes so long"
        : failed && `read its log: kubectl logs ${inCommands(pod)} -c ${failed.name}`,
  };
}

/** Explains a pod that exceeds its deadline. The phase Failed is written only after its containers have stopped. */
export function explainOverdue({ pod, now }: PodFacts): Explanation | undefined {
  const seconds = pod.spec?.activeDeadlineSeconds;
  const started = pod.status?.startTime;
  if (seconds === undefined || !started) return undefined;
  const endMs = Date.parse(started) + 1_000 * seconds;
  if (now < endMs) return undefined;
  return {
    stage: "terminating",
    since: new Date(endMs).toISOString(),
    because: `The pod exceeded activeDeadlineSeconds (${seconds} s) and is being stopped.`,
    isTransient: false,
    fix: "raise spec.activeDeadlineSeconds in a new pod, or find out why it takes so long",
  };
}

/** Time after the grace period from which a terminating pod counts as stuck. */
const stuckMs = 60_000;

/** Explains a terminating pod. One that still exists a minute after its grace period is stuck. */
export function explainTermination(facts: PodFacts): Explanation {
  const { pod, now } = facts;
  const { deletionTimestamp = "", deletionGracePeriodSeconds = 0, finalizers = [] } = pod.metadata;
  // The timestamp is the end of the grace period.
  const endMs = Date.parse(deletionTimestamp);
  const sinceMs = endMs - 1_000 * deletionGracePeriodSeconds;
  const isStuck = now > endMs + stuckMs;
  const lost = describeLostNode(facts);
  const blocked = [
    ...(finalizers.length > 0 ? [`its finalizers block the deletion: ${finalizers.join(", ")}`] : []),
    ...(lost ? [`${lost.because}, so no kubelet confirms that its containers have stopped`] : []),
  ];
  const resolvesWhen = finalizers.length > 0 ? whenFinalized(finalizers) : "when the kubelet has stopped it";
  // Forced deletion replaces the confirmation of a lost kubelet, but does not remove finalizers.
  const force = `if its node is lost permanently: kubectl delete pod ${inCommands(pod)} --force --grace-period=0`;
  const fixes = [
    ...(isStuck ? finalizers.map((finalizer) => removeFinalizer(pod, finalizer)) : []),
    ...(lost || (isStuck && finalizers.length === 0) ? [lost?.fix, force] : []),
  ];
  return {
    stage: "terminating",
    since: Number.isFinite(sinceMs) ? formatTime(sinceMs) : undefined,
    because: `${["The pod is being deleted", ...blocked].join("; ")}.`,
    isTransient: !isStuck,
    ...(!isStuck && { resolvesWhen }),
    fix: joinFixes(fixes),
  };
}

/** Finalizers of Kubernetes and what removes them. */
const knownFinalizers: Readonly<Record<string, string>> = {
  foregroundDeletion: "the garbage collector",
  orphan: "the garbage collector",
  "batch.kubernetes.io/job-tracking": "the Job controller",
};

function ownerOf(finalizer: string): string {
  return knownFinalizers[finalizer] ?? "the controller that added it";
}

function whenFinalized(finalizers: readonly string[]): string {
  const [only = ""] = finalizers;
  return finalizers.length === 1
    ? `when ${ownerOf(only)} removes it`
    : "when the controllers that added them remove them";
}

function removeFinalizer(pod: Pod, finalizer: string): string {
  const index = pod.metadata.finalizers?.indexOf(finalizer) ?? 0;
  const path = `/metadata/finalizers/${index}`;
  const operations = [
    { op: "test", path, value: finalizer },
    { op: "remove", path },
  ];
  return `${finalizer} is removed by ${ownerOf(finalizer)}; if that does not run any more: kubectl patch pod ${inCommands(pod)} --type=json -p '${JSON.stringify(operations)}'`;
}

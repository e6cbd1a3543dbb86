import { type Explanation, inCommands, type PodFacts, sentence } from "./explanation.ts";

export function explainEnd({ pod }: PodFacts): Explanation {
  const { phase, reason, message } = pod.status ?? {};
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const failed = statuses.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  const ends = statuses.flatMap(({ state }) => state?.terminated?.finishedAt ?? []);
  const exit =
    failed && `container ${failed.name} ended with exit code ${failed.state?.terminated?.exitCode}`;
  // What the kubelet says of the whole pod explains the exit codes, and not the other way round.
  const how = reason ? (message ?? exit) : (exit ?? message);
  const because =
    phase === "Succeeded"
      ? "All of its containers have done their work."
      : sentence(`It failed${reason ? ` (${reason})` : ""}${how ? `: ${how}` : ""}`);
  return {
    stage: "ended",
    since: ends.toSorted((a, b) => Date.parse(b) - Date.parse(a))[0],
    because,
    healsByItself: phase === "Succeeded",
    fix:
      reason === "DeadlineExceeded"
        ? "raise spec.activeDeadlineSeconds in a new pod, or find out what took so long"
        : failed && `read what it said: kubectl logs ${inCommands(pod)} -c ${failed.name}`,
  };
}

/** Its time is over and it is being stopped; that it has failed is written once its containers have ended. */
export function explainOverdue({ pod, now }: PodFacts): Explanation | undefined {
  const seconds = pod.spec?.activeDeadlineSeconds;
  const started = pod.status?.startTime;
  if (seconds === undefined || !started) return undefined;
  const endMs = Date.parse(started) + 1_000 * seconds;
  if (now < endMs) return undefined;
  return {
    stage: "terminating",
    since: new Date(endMs).toISOString(),
    because: `It was given ${seconds} s by activeDeadlineSeconds; they are over and it is being stopped.`,
    healsByItself: false,
    fix: "raise spec.activeDeadlineSeconds in a new pod, or find out what took so long",
  };
}

/** A pod that has not gone a minute after it should have is stuck. */
export function explainLeaving({ pod, now }: PodFacts): Explanation {
  const { deletionTimestamp = "", finalizers = [] } = pod.metadata;
  const held = finalizers.length > 0;
  const over = now > Date.parse(deletionTimestamp) + 60_000;
  // Force takes the place of a kubelet that is gone; finalizers hold a pod against that too.
  const fix = held
    ? `if nothing is left that would remove them: kubectl patch pod ${inCommands(pod)} --type=merge -p '{"metadata":{"finalizers":null}}'`
    : `if its node is gone for good: kubectl delete pod ${inCommands(pod)} --force --grace-period=0`;
  return {
    stage: "terminating",
    since: deletionTimestamp,
    because: `It is being deleted${held ? `; finalizers hold it: ${finalizers.join(", ")}` : ""}.`,
    healsByItself: !over,
    ...(!over && {
      healsWhen: held ? "when whoever set the finalizers removes them" : "when the kubelet ends it",
    }),
    fix: over ? fix : undefined,
  };
}

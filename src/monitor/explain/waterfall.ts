import type { Pod } from "../../api/objects.ts";

/** One stretch of a pod's way. Without an end it goes on. */
export interface Span {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number | undefined;
}

/** How long a pod was in each stage, as far as its conditions and containers tell; what cannot be known is left out. */
export function waterfall(pod: Pod): readonly Span[] {
  const created = timeMs(pod.metadata.creationTimestamp);
  const at = (type: string) => {
    const condition = pod.status?.conditions?.find((each) => each.type === type);
    return condition?.status === "True" ? timeMs(condition.lastTransitionTime) : undefined;
  };
  const inits = (pod.status?.initContainerStatuses ?? []).map(({ name, state, lastState }) => {
    const ran = state?.terminated ?? state?.running ?? lastState?.terminated;
    const end = state?.terminated?.finishedAt;
    return { name: `init ${name}`, startMs: timeMs(ran?.startedAt), endMs: timeMs(end) };
  });
  const starts = (pod.status?.containerStatuses ?? []).flatMap(
    ({ state }) => timeMs((state?.running ?? state?.terminated)?.startedAt) ?? [],
  );
  const scheduled = at("PodScheduled");
  const sandbox = at("PodReadyToStartContainers");
  const initialized = inits.length > 0 ? at("Initialized") : sandbox;
  const started = starts.length > 0 ? Math.max(...starts) : undefined;
  const spans = [
    { name: "scheduling", startMs: created, endMs: scheduled },
    { name: "volumes and sandbox", startMs: scheduled, endMs: sandbox },
    ...inits,
    { name: "images and containers", startMs: initialized, endMs: started },
    { name: "until ready", startMs: started, endMs: at("Ready") },
  ];
  // The conditions of a pod that has ended say nothing of its start any more.
  const hasEnded = pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
  return spans.flatMap(({ name, startMs, endMs }) =>
    startMs === undefined || (hasEnded && endMs === undefined)
      ? []
      : [{ name, startMs, endMs: endMs === undefined ? undefined : Math.max(startMs, endMs) }],
  );
}

function timeMs(time: string | null | undefined): number | undefined {
  return time ? Date.parse(time) : undefined;
}

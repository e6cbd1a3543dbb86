// Clauses: 3542-14
import type { Event, Pod } from "../../api/meta/objects.ts";
import { allContainersOf } from "../../api/pod/pod-containers.ts";
import { hasEnded } from "../../api/pod/pod-state.ts";

/** Pull of a container's image that the events of the pod report. */
export interface RunningPull {
  readonly container: string;
  readonly image: string;
  /** Field of the container in events: `spec.containers{web}`. */
  readonly fieldPath: string;
  readonly startedMs: number;
}

/** Whether a container of the pod has not started, so that its image may be pulled. */
export function isStarting(pod: Pod): boolean {
  if (pod.metadata.deletionTimestamp || hasEnded(pod)) return false;
  const {
    initContainerStatuses = [],
    containerStatuses = [],
    ephemeralContainerStatuses = [],
  } = pod.status ?? {};
  const statuses = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses];
  const isWaiting = ({ state }: (typeof statuses)[number]) => !state?.running && !state?.terminated;
  return statuses.length < allContainersOf(pod.spec).length || statuses.some(isWaiting);
}

/** Events that end a pull, by reason. */
const endings = new Set(["Pulled", "Failed", "BackOff", "Created", "Started", "Killing"]);

/**
 * Finds the pulls that are running: containers whose last event about their image is `Pulling image "X"`. Empty if another
 * component reports the progress of the pod's pulls, as Kindling's kubelet does.
 */
export function runningPulls(
  events: readonly Event[],
  { component }: { readonly component: string },
): readonly RunningPull[] {
  const isReportedByOthers = events.some(
    ({ message, source }) =>
      message?.startsWith("Pulling Container image ") && source?.component !== component,
  );
  if (isReportedByOthers) return [];
  const last = new Map<string, Event>();
  for (const event of events) {
    const { fieldPath } = event.involvedObject;
    if (fieldPath === undefined || (!endings.has(event.reason ?? "") && pulledImage(event) === undefined))
      continue;
    const before = last.get(fieldPath);
    if (!before || isLater(event, before)) last.set(fieldPath, event);
  }
  return [...last].flatMap(([fieldPath, event]) => {
    const image = pulledImage(event);
    const container = /\{([^{}]+)\}$/.exec(fieldPath)?.[1];
    return image === undefined || container === undefined
      ? []
      : [{ container, image, fieldPath, startedMs: timeOf(event) }];
  });
}

/** Image of the event with which a pull starts. Progress events have the same reason and another message. */
function pulledImage({ reason, message = "" }: Event): string | undefined {
  return reason === "Pulling" ? /^Pulling image "([^"\\]+)"/.exec(message)?.[1] : undefined;
}

/** Events of one second are ordered by their resource version. */
function isLater(event: Event, before: Event): boolean {
  const difference = timeOf(event) - timeOf(before);
  if (difference !== 0) return difference > 0;
  return Number(event.metadata.resourceVersion) > Number(before.metadata.resourceVersion);
}

function timeOf({ series, lastTimestamp, eventTime, firstTimestamp, metadata }: Event): number {
  const time =
    series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? firstTimestamp ?? metadata.creationTimestamp;
  return Date.parse(time ?? "") || 0;
}

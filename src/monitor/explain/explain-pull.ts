import type { Container } from "../../api/objects.ts";
import { humanDuration } from "../../lib/human-duration.ts";
import { type Explanation, eventsOf, lastEvent, type PodFacts, type PullFacts } from "./explanation.ts";

/** A pull that goes on, as the kubelet tells it. */
export function explainPull({ now }: PodFacts, { image, startedAt, offset, total }: PullFacts): Explanation {
  const seconds = Math.max(1, (now - Date.parse(startedAt)) / 1_000);
  const rate = offset / seconds;
  const left = rate > 0 && total > offset ? `, about ${inWords((total - offset) / rate)} left` : "";
  const amount = total > 0 ? `${mebibytes(offset)} of ${mebibytes(total)} MiB` : `${mebibytes(offset)} MiB`;
  return {
    stage: "pulling",
    since: startedAt,
    because:
      offset === 0 && total === 0
        ? `The image ${image} is being pulled: the registry has sent nothing yet.`
        : `The image ${image} is being pulled: ${amount}${left}.`,
    healsByItself: true,
    healsWhen: "when the image is here",
    fix: undefined,
  };
}

function inWords(seconds: number): string {
  return seconds < 120 ? `${Math.ceil(seconds)} s` : humanDuration(1_000 * seconds);
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(bytes < 10 * 2 ** 20 ? 1 : 0);
}

/** Nothing has gone wrong so far: the events tell whether it is the image that is waited for. */
export function explainMaking(facts: PodFacts, container: Container): Explanation {
  const event = lastEvent({ events: eventsOf(facts, container.name) }, "Pulling", "Pulled");
  if (event?.reason === "Pulling") {
    const words = event.message ?? `Pulling image "${container.image}"`;
    return {
      stage: "pulling",
      since: event.firstTimestamp ?? event.eventTime ?? event.lastTimestamp ?? undefined,
      because: `${words}.`,
      healsByItself: true,
      healsWhen: "when the image is here",
      fix: undefined,
    };
  }
  return {
    stage: "creating",
    since: event?.lastTimestamp ?? event?.eventTime ?? undefined,
    because: `Container ${container.name} is about to be made.`,
    healsByItself: true,
    healsWhen: "in a moment",
    fix: undefined,
  };
}

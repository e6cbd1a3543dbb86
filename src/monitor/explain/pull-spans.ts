import type { Event, Pod } from "../../api/objects.ts";
import { parseGoDuration } from "../../lib/go-duration.ts";
import { eventTime } from "../event-time.ts";
import type { PullFacts } from "./explanation.ts";

export interface PullSpanFacts {
  readonly events: readonly Event[];
  readonly pulls: readonly PullFacts[];
}

interface PullSpan {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number | undefined;
}

/** The pulls of a pod: those that events tell of with how long they took, and those that go on. */
export function pullSpans({ spec }: Pod, { events, pulls }: PullSpanFacts): readonly PullSpan[] {
  const names = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(({ name }) => name);
  return names.flatMap((name): PullSpan[] => {
    const running = pulls.find(({ container }) => container === name);
    if (running) return [spanOf(running.image, Date.parse(running.startedAt), undefined)];
    const past = events.flatMap((event) => {
      if (event.reason !== "Pulled" || !event.involvedObject.fieldPath?.endsWith(`{${name}}`)) return [];
      const [, image, took] =
        /^Successfully pulled image "([^"]+)" in \S+ \((\S+) including/.exec(event.message ?? "") ?? [];
      const endMs = Date.parse(eventTime(event) ?? "");
      const tookMs = parseGoDuration(took ?? "");
      if (!image || tookMs === undefined || Number.isNaN(endMs)) return [];
      return [spanOf(image, endMs - tookMs, endMs)];
    });
    return past.slice(0, 1);
  });
}

function spanOf(image: string, startMs: number, endMs: number | undefined): PullSpan {
  const short =
    image
      .split("/")
      .at(-1)
      ?.replace(/@sha256:.*/, "") ?? image;
  return { name: `pull ${short.length > 24 ? `${short.slice(0, 23)}…` : short}`, startMs, endMs };
}

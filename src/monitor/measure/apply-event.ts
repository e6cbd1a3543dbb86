import type { Event } from "../../api/meta/objects.ts";
import { eventTimeMs } from "../../api/meta/time.ts";
import { parseGoDuration } from "../../lib/go-duration.ts";
import { userErrorIn } from "./read-pod.ts";
import type { Step, TrackedStart } from "./tracked-start.ts";

/** Maximum number of pulls kept per pod. */
const maxPulls = 50;

/** Applies an event about a pod. The same event may arrive any number of times. */
export function applyEvent(
  state: TrackedStart,
  event: Event,
  { sinceMs }: { readonly sinceMs: number },
): Step {
  const error = userErrorIn(event);
  if (error && state.outcome === "starting" && state.userError === undefined) {
    return {
      next: { ...state, userError: error.message },
      signals: [{ kind: "user-error", reason: error.reason }],
    };
  }
  const pull = event.reason === "Pulled" ? parsePullMessage(event.message ?? "") : undefined;
  const endedMs = eventTimeMs(event);
  if (!pull || state.pulls.length >= maxPulls || endedMs < sinceMs) return { next: state, signals: [] };
  // Repeated events increase the count of one object.
  const id = `${event.metadata.uid ?? event.metadata.name}:${event.series?.count ?? event.count ?? 1}`;
  if (state.pulls.some((each) => each.event === id)) return { next: state, signals: [] };
  return {
    next: { ...state, pulls: [...state.pulls, { event: id, ...pull, endedMs }] },
    signals: [{ kind: "pull", ...pull }],
  };
}

interface Pull {
  readonly image: string;
  readonly seconds: number;
  readonly bytes: number | undefined;
}

// Kubelets before 1.31 omit the size, those before 1.27 also the time including waiting.
const pulled = /^Successfully pulled image "([^"]{1,1000})" in ([0-9a-zµ.]{1,40})(?: \(|\.?$)/;
const size = / Image size: (\d{1,15}) bytes\./;

/** Parses the kubelet's message for a completed pull. Undefined for other messages, such as for a present image. */
export function parsePullMessage(message: string): Pull | undefined {
  const [, image, duration = ""] = pulled.exec(message) ?? [];
  const ms = parseGoDuration(duration);
  if (!image || ms === undefined) return undefined;
  const bytes = size.exec(message)?.[1];
  return { image, seconds: ms / 1_000, bytes: bytes === undefined ? undefined : Number(bytes) };
}

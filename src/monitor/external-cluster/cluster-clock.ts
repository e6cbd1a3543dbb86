import type { Transport } from "../../client/transport/transport.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics/metrics.ts";

/** Bounds of the offset between the server's clock and the local clock, in milliseconds; positive: server ahead. */
export interface OffsetBounds {
  readonly min: number;
  readonly max: number;
}

/** Local send and receive times of a response, and its `Date` header, which is truncated to whole seconds. */
export interface TimedResponse {
  readonly sentMs: number;
  readonly receivedMs: number;
  readonly dateMs: number;
}

/** Offsets below this can result from whole seconds and latency alone; they count as 0. */
const negligibleMs = 2_000;

/** Intersects the bounds with those of a response. If they do not overlap, a clock was set: the old bounds are dropped. */
export function narrowOffset(known: OffsetBounds | undefined, response: TimedResponse): OffsetBounds {
  const { sentMs, receivedMs, dateMs } = response;
  const seen = { min: dateMs - receivedMs, max: dateMs + 1_000 - sentMs };
  if (!known) return seen;
  const both = { min: Math.max(known.min, seen.min), max: Math.min(known.max, seen.max) };
  return both.min <= both.max ? both : seen;
}

export function offsetMs(bounds: OffsetBounds | undefined): number {
  if (!bounds) return 0;
  const middle = Math.round((bounds.min + bounds.max) / 2);
  return Math.abs(middle) < negligibleMs ? 0 : middle;
}

/**
 * Clock of the cluster. Timestamps of pods come from the API server, so everything that is compared with them (waiting
 * times, deadlines, the start of the monitor) uses the server's clock, even if the local clock is wrong.
 */
export interface ClusterClock extends Clock {
  /** Wraps a transport and reads the server's time from the Date header of its responses. */
  observe(transport: Transport): Transport;
  register(metrics: Metrics): void;
}

export function createClusterClock({ clock, logger }: { clock: Clock; logger: Logger }): ClusterClock {
  let bounds: OffsetBounds | undefined;
  let loggedSeconds = 0;

  function update(response: { readonly sentMs: number; readonly date: string | undefined }): void {
    const dateMs = Date.parse(response.date ?? "");
    if (Number.isNaN(dateMs)) return;
    bounds = narrowOffset(bounds, { sentMs: response.sentMs, receivedMs: clock.now(), dateMs });
    const seconds = Math.round(offsetMs(bounds) / 1_000);
    if (Math.abs(seconds - loggedSeconds) < 2) return;
    loggedSeconds = seconds;
    const by = `${Math.abs(seconds)} s ${seconds > 0 ? "behind" : "ahead of"}`;
    logger.warn(
      `this machine's clock is ${by} the API server's; times are measured by the API server's clock`,
    );
  }

  return {
    now: () => clock.now() + offsetMs(bounds),
    sleep: clock.sleep,
    observe: ({ send, close }) => ({
      async send(request) {
        const sentMs = clock.now();
        const response = await send(request);
        update({ sentMs, date: response.headers.date });
        return response;
      },
      close,
    }),
    register(metrics) {
      const offset = {
        name: "kindling_cluster_clock_offset_seconds",
        help: "Offset of the API server's clock from the monitor's, positive if ahead; 0 if below two seconds",
      };
      metrics.gauge(offset, () => [[{}, offsetMs(bounds) / 1_000]]);
    },
  };
}

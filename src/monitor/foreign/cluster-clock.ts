import type { Transport } from "../../client/transport.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { narrowOffset, type OffsetBounds, offsetMs } from "./clock-offset.ts";

/**
 * The time of the cluster. Pods carry its times, so that whatever is compared with them (how long one has been waiting,
 * what was before the monitor's time, deadlines) is counted by its clock, however wrong that of this machine is.
 */
export interface ClusterClock extends Clock {
  /** A transport that reads the time from the server's answers on the way. */
  listenTo(transport: Transport): Transport;
  register(metrics: Metrics): void;
}

export function createClusterClock({ clock, logger }: { clock: Clock; logger: Logger }): ClusterClock {
  let bounds: OffsetBounds | undefined;
  let told = 0;

  function learn(answer: { readonly sentMs: number; readonly date: string | undefined }): void {
    const dateMs = Date.parse(answer.date ?? "");
    if (Number.isNaN(dateMs)) return;
    bounds = narrowOffset(bounds, { sentMs: answer.sentMs, receivedMs: clock.now(), dateMs });
    const seconds = Math.round(offsetMs(bounds) / 1_000);
    if (Math.abs(seconds - told) < 2) return;
    told = seconds;
    const by = `${Math.abs(seconds)} s ${seconds > 0 ? "behind" : "ahead of"}`;
    logger.warn(`this machine's clock is ${by} the API server's: times are counted by the cluster's`);
  }

  return {
    now: () => clock.now() + offsetMs(bounds),
    sleep: clock.sleep,
    listenTo: ({ send, close }) => ({
      async send(request) {
        const sentMs = clock.now();
        const response = await send(request);
        learn({ sentMs, date: response.headers.date });
        return response;
      },
      close,
    }),
    register(metrics) {
      const offset = {
        name: "kindling_cluster_clock_offset_seconds",
        help: "How far the API server's clock is ahead of the monitor's; 0 where they differ by less than two seconds",
      };
      metrics.gauge(offset, () => [[{}, offsetMs(bounds) / 1_000]]);
    },
  };
}

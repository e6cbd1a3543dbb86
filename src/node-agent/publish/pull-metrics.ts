// Clauses: 3542-14
import type { Clock } from "../../lib/clock.ts";
import { parseImageName } from "../../lib/image/image-name.ts";
import type { PullProgress } from "../../lib/image/pull-progress.ts";
import type { Metrics } from "../../lib/metrics/metrics.ts";

/** Metrics of the running pulls of a node, by registry. */
export interface PullMetrics {
  start(image: string): MeteredPull;
}

interface MeteredPull {
  onReport(report: Pick<PullProgress, "offset">): void;
  onStall(): void;
  end(): void;
}

const received = {
  name: "kindling_node_image_pull_received_bytes_total",
  help: "Bytes of image layers that the node has received",
};
const rate = {
  name: "kindling_node_image_pull_bytes_per_second",
  help: "Current rate at which the node receives image layers",
};
const stalls = {
  name: "kindling_node_image_pull_stalls_total",
  help: "Image pulls for which a registry sent no data for the no-progress timeout",
};

/** Limits the number of series: image names, and with them registries, are chosen by the users of the cluster. */
const maxRegistries = 100;
const rateWindowMs = 10_000;

/** Transfer of one image. Several containers that pull it at once receive its bytes once. */
interface Transfer {
  pulls: number;
  offset: number;
  samples: readonly { readonly atMs: number; readonly bytes: number }[];
}

export function createPullMetrics({
  metrics,
  clock,
}: {
  readonly metrics: Metrics;
  readonly clock: Clock;
}): PullMetrics {
  const registries = new Set<string>();
  const transfers = new Map<string, Transfer>();

  function registryOf(image: string): string {
    const name = parseImageName(image);
    const host = "problem" in name ? "unknown" : name.host;
    if (registries.has(host)) return host;
    if (registries.size >= maxRegistries) return "other";
    registries.add(host);
    return host;
  }

  metrics.gauge(rate, () => {
    const rates = new Map<string, number>();
    for (const [image, { samples }] of transfers) {
      const registry = registryOf(image);
      const recent = samples.filter(({ atMs }) => clock.now() - atMs <= rateWindowMs);
      const bytes = recent.reduce((sum, sample) => sum + sample.bytes, 0);
      rates.set(registry, (rates.get(registry) ?? 0) + (1_000 * bytes) / rateWindowMs);
    }
    return [...rates].map(([registry, value]) => [{ registry }, value] as const);
  });

  return {
    start(image) {
      const registry = registryOf(image);
      const transfer = transfers.get(image) ?? { pulls: 0, offset: 0, samples: [] };
      transfer.pulls++;
      transfers.set(image, transfer);
      return {
        onReport({ offset }) {
          // A transfer that starts again from 0 counts from there.
          const bytes = Math.max(0, offset - transfer.offset);
          const isOwnReset = offset < transfer.offset && transfer.pulls === 1;
          if (bytes > 0 || isOwnReset) transfer.offset = offset;
          if (bytes === 0) return;
          metrics.counter(received, { registry }).add(bytes);
          const now = clock.now();
          transfer.samples = [
            ...transfer.samples.filter(({ atMs }) => now - atMs <= rateWindowMs),
            { atMs: now, bytes },
          ];
        },
        onStall: () => metrics.counter(stalls, { registry }).add(),
        end() {
          if (--transfer.pulls === 0) transfers.delete(image);
        },
      };
    },
  };
}

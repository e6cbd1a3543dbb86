import type { Pod } from "../../src/api/meta/objects.ts";
import type { Client } from "../../src/client/api/client.ts";
import { createInformer } from "../../src/client/informers/informer.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";

/** Times at which each pod was first observed, and observed as ready. */
export interface PodWatch {
  /** Milliseconds from first observed to ready. */
  untilReady(name: string): Promise<number>;
  untilGone(name: string): Promise<void>;
  stop(): Promise<void>;
}

export async function watchPods(client: Client): Promise<PodWatch> {
  const informer = createInformer({ client, resource: "pods", clock: systemClock, logger: silentLogger });
  const shownAt = new Map<string, number>();
  const readyAt = new Map<string, number>();
  const waiting = new Set<() => void>();
  informer.onChange(({ kind, object: pod }) => {
    const { name = "" } = pod.metadata;
    const now = performance.now();
    if (kind === "deleted") {
      shownAt.delete(name);
      readyAt.delete(name);
    } else {
      if (!shownAt.has(name)) shownAt.set(name, now);
      if (isReady(pod) && !readyAt.has(name)) readyAt.set(name, now);
    }
    for (const look of waiting) look();
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  await informer.synced;

  function until<T>(what: string, find: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${what}: not within two minutes`)), 120_000);
      const look = () => {
        const found = find();
        if (found === undefined) return;
        clearTimeout(timer);
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  }
  return {
    untilReady: (name) =>
      until(`${name} is ready`, () => {
        const at = readyAt.get(name);
        return at === undefined ? undefined : at - (shownAt.get(name) ?? at);
      }),
    untilGone: (name) =>
      until(`${name} is gone`, () => (shownAt.has(name) ? undefined : null)).then(() => {}),
    async stop() {
      stop.abort();
      await running;
    },
  };
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false;
}

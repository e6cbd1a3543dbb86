import { join } from "node:path";
import { afterEach, vi } from "vitest";
import { connectCluster } from "../../../src/client/api/create-client.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import type { StartSignal } from "../../../src/monitor/measure/start-signal.ts";
import { createMonitor, type Monitor } from "../../../src/monitor/tracking/monitor.ts";
import { openLmdbStore } from "../../../src/store/lmdb/lmdb-store.ts";
import { temporaryFolder } from "../files/temporary-folder.ts";

export interface RunningMonitor {
  readonly monitor: Monitor;
  signals(pod: string): readonly StartSignal[];
  /** The same signals as text, such as `stage sandbox`. */
  of(pod: string): readonly string[];
  stop(): Promise<void>;
}

interface MonitorOptions {
  readonly kubeconfig: string;
  readonly stuckAfterSeconds?: number;
}

/** Starts monitors that run until they are stopped or the test ends. Monitors with the same name have the same data. */
export function useMonitors(): (name: string, options: MonitorOptions) => Promise<RunningMonitor> {
  const folder = temporaryFolder();
  const running: RunningMonitor[] = [];
  afterEach(async () => {
    for (const each of running.splice(0)) await each.stop();
  });

  return async (name, { kubeconfig, stuckAfterSeconds = 300 }) => {
    const store = await openLmdbStore({ directory: join(folder, name) });
    const client = await connectCluster({ kubeconfig });
    const options = { stuckAfterSeconds, chosenLabels: ["team"], chosenAnnotations: [] };
    const monitor = createMonitor({ client, clock: systemClock, logger: silentLogger, store, options });
    const emitted: StartSignal[] = [];
    monitor.onSignal((signal) => emitted.push(signal));
    const stopping = new AbortController();
    const done = monitor.run(stopping.signal);
    let stopped: Promise<void> | undefined;
    const signals = (pod: string) => emitted.filter(({ start }) => start.pod.name === pod);
    const self: RunningMonitor = {
      monitor,
      signals,
      of: (pod) => signals(pod).map(say),
      stop() {
        stopped ??= (async () => {
          stopping.abort(new Error("the test stops the monitor"));
          await done;
          client.close();
          await store.close();
        })();
        return stopped;
      },
    };
    running.push(self);
    await monitor.synced;
    return self;
  };
}

/**
 * Waits until the time of new pods counts at once. For pods that are older than the monitor's first read it counts only
 * 30 s after the read, and timestamps of pods are whole seconds.
 */
export async function untilObserving({ availability }: Monitor): Promise<void> {
  const timeout = 60_000;
  const knownMs = await vi.waitUntil(() => availability.knownUntilMs(), { timeout });
  await vi.waitUntil(() => Date.now() >= knownMs + 1_000, { timeout });
}

/** In a few words: `stage sandbox`, `first sandbox`, `ready`. */
function say(signal: StartSignal): string {
  switch (signal.kind) {
    case "stage":
    case "stuck":
    case "abandoned":
      return `${signal.kind} ${signal.stage}`;
    case "sandbox":
      return signal.first ? "first sandbox" : "sandbox again";
    case "unknown":
      return `unknown ${signal.what}`;
    case "user-error":
      return `user error ${signal.reason}`;
    default:
      return signal.kind;
  }
}

/** Duration of the first signal with this text. */
export function secondsOf(signals: readonly StartSignal[], what: string): number | undefined {
  const found = signals.find((signal) => say(signal) === what);
  return found && "seconds" in found ? found.seconds : undefined;
}

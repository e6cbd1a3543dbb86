import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { defaultFeatures } from "../../src/api/feature-gates.ts";
import type { Client } from "../../src/client/client.ts";
import { type ClusterAccess, loadKubeconfig } from "../../src/client/cluster-access.ts";
import { connectCluster, createClient } from "../../src/client/create-client.ts";
import { createHttpTransport } from "../../src/client/http-transport.ts";
import { type ControllersOptions, runControllers } from "../../src/controllers/controller-manager.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createLogger, silentLogger } from "../../src/lib/logger.ts";
import { createScheduler } from "../../src/scheduler/scheduler.ts";

/** All controllers beside an API server, each with the rights of its own account, to be started and broken off. */
export interface TestControllers {
  startControllers(options?: Partial<ControllersOptions>): Promise<void>;
  /** Breaks off in the middle of whatever they do. */
  stopControllers(): Promise<void>;
  /** How many requests they have made that are no lists and no watches. */
  calls(): number;
  /** Until they have changed nothing for a while: controllers that write at rest never come to this. */
  untilAtRest(): Promise<void>;
}

/** `KINDLING_TEST_LOG` shows what the parts say. */
const testLogger = process.env.KINDLING_TEST_LOG
  ? createLogger({ format: "text", level: "debug" })
  : silentLogger;

export function createTestControllers(
  kubeconfig: string,
  common: Partial<ControllersOptions> = {},
): TestControllers {
  let running: { stop: AbortController; done: Promise<void>; close(): void } | undefined;
  const count = { calls: 0, writes: 0 };
  return {
    calls: () => count.calls,
    async untilAtRest() {
      const written = async () => {
        const before = count.writes;
        await delay(1_500);
        return count.writes - before;
      };
      await expect.poll(written).toBe(0);
    },
    async startControllers(options) {
      const stop = new AbortController();
      const access = await loadKubeconfig(kubeconfig);
      const opened: Client[] = [];
      const open = (account?: string) => {
        const client = connectAs(access, account);
        opened.push(client);
        return counting(client, count);
      };
      const wanted = { ...common, ...options };
      const localVolumes = wanted.localVolumes && { ...wanted.localVolumes, classCreator: open() };
      const parts = {
        clock: systemClock,
        logger: testLogger,
        features: defaultFeatures,
        ...wanted,
        localVolumes,
      };
      running = {
        stop,
        done: runControllers({ client: open(), clientAs: open, ...parts }, stop.signal),
        close() {
          for (const client of opened) client.close();
        },
      };
    },
    async stopControllers() {
      if (!running) return;
      const { stop, done, close } = running;
      running = undefined;
      // The connections first: what is under way does not get to its end.
      close();
      stop.abort(new Error("the test stops the controllers"));
      await done;
    },
  };
}

/** As the administrator, who may be anybody: a service account of kube-system where one is named. */
function connectAs(access: ClusterAccess, account?: string): Client {
  const transport = createHttpTransport({ access });
  const user = account && { "impersonate-user": `system:serviceaccount:kube-system:${account}` };
  return createClient({
    transport: {
      ...transport,
      send: (request) => transport.send({ ...request, headers: { ...request.headers, ...user } }),
    },
  });
}

/** Returns what stops it. */
export async function startTestScheduler(kubeconfig: string): Promise<() => Promise<void>> {
  const client = await connectCluster({ kubeconfig });
  const stop = new AbortController();
  const running = createScheduler({ client, clock: systemClock, logger: testLogger }).run(stop.signal);
  return async () => {
    stop.abort(new Error("the test stops the scheduler"));
    await running;
    client.close();
  };
}

const reads = ["get", "request"] as const;
const writes = ["create", "update", "patch", "delete", "deleteCollection"] as const;

function counting(client: Client, count: { calls: number; writes: number }): Client {
  const counted = [...reads, ...writes].map((verb) => [
    verb,
    (...args: unknown[]) => {
      count.calls++;
      if (writes.some((write) => write === verb)) count.writes++;
      return Reflect.apply(client[verb], client, args);
    },
  ]);
  return { ...client, ...Object.fromEntries(counted) };
}

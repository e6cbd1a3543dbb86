import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { defaultFeatures, type Features } from "../../../src/api/meta/feature-gates.ts";
import type { Client } from "../../../src/client/api/client.ts";
import { connectCluster, createClient } from "../../../src/client/api/create-client.ts";
import { type ClusterAccess, loadKubeconfig } from "../../../src/client/kubeconfig/cluster-access.ts";
import { createHttpTransport } from "../../../src/client/transport/http-transport.ts";
import { type ControllersOptions, runControllers } from "../../../src/controllers/controller-manager.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createLogger, silentLogger } from "../../../src/lib/logger.ts";
import { createScheduler } from "../../../src/scheduler/scheduler.ts";

/** All controllers, each with the permissions of its own service account. */
export interface TestControllers {
  startControllers(options?: TestControllersOptions): Promise<void>;
  /** Stops the controllers during their work. */
  stopControllers(): Promise<void>;
  /** Returns the number of requests that the controllers have made, except lists and watches. */
  calls(): number;
  /** Waits until the controllers have written nothing for 1.5 seconds. */
  untilAtRest(): Promise<void>;
}

export interface TestControllersOptions extends Partial<Omit<ControllersOptions, "features">> {
  readonly features?: Partial<Features>;
}

/** Logger for the components of a cluster. `KINDLING_TEST_LOG` turns it on. */
const testLogger = process.env.KINDLING_TEST_LOG
  ? createLogger({ format: "text", level: "debug" })
  : silentLogger;

export function createTestControllers(
  kubeconfig: string,
  common: TestControllersOptions = {},
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
        ...wanted,
        features: { ...defaultFeatures, ...common.features, ...options?.features },
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
      // Connections are closed first, so that pending requests fail.
      close();
      stop.abort(new Error("the test stops the controllers"));
      await done;
    },
  };
}

/** Acts as the administrator, or impersonates the given service account of kube-system. */
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

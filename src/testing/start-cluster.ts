import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { connectCluster } from "../client/api/create-client.ts";
import { startCluster as startParts } from "../cluster/cluster.ts";
import { unmountBelow } from "../cluster/host/unmount-below.ts";
import { createFaults } from "./create-faults.ts";
import { createTestClient } from "./create-test-client.ts";
import { createMovableClock } from "./movable-clock.ts";
import { readOptions } from "./read-options.ts";
import { toMs } from "./test-client.ts";
import type { TestCluster, TestClusterOptions } from "./test-cluster.ts";

export { StatusError } from "../api/meta/status-error.ts";
export type { ObjectTypes, ResourceName } from "../client/api/client.ts";
export type { Fault, Faults, Outage } from "./faults.ts";
export type { Duration, NewObject, ObjectRef, TestClient } from "./test-client.ts";
export type { ClusterClock, TestCluster, TestClusterOptions } from "./test-cluster.ts";
export { WaitTimeoutError } from "./wait-until.ts";

/** Starts a cluster inside this process, ready to run pods. The caller has to close it. */
export async function startCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const parts = readOptions(options, process.getuid?.() === 0);
  const clock = createMovableClock({ settle });
  /** Clean-up functions, run in reverse order. */
  const cleanUps: (() => unknown)[] = [() => clock.stop()];
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= runCleanUps(cleanUps);
    return closing;
  };
  try {
    const dataDir = await mkdtemp(join(tmpdir(), "kindling-"));
    cleanUps.push(() => rm(dataDir, { recursive: true, force: true }));
    // A stopped kubelet leaves the volumes of its pods mounted.
    if (options.runtime === "real") cleanUps.push(() => unmountBelow(dataDir));
    const cluster = await startParts({ ...parts, dataDir, clock });
    cleanUps.push(cluster.close);
    const { url, kubeconfig } = cluster;
    const connection = await connectCluster({ kubeconfig, userAgent: "kindling-test" });
    cleanUps.push(() => connection.close());
    const client = createTestClient({ client: connection, clock });
    if (options.objects) await client.apply(options.objects);
    return {
      url,
      kubeconfig,
      kubeconfigText: await readFile(kubeconfig, "utf8"),
      client,
      clock: {
        now: clock.now,
        async advance(duration) {
          const ms = toMs(duration, "duration");
          if (ms === Number.POSITIVE_INFINITY)
            throw new TypeError("duration: the clock cannot be advanced by Infinity");
          await clock.advance(ms);
        },
      },
      faults: createFaults({ cluster, getPod: (ref) => client.get("pods", ref) }),
      nodes: cluster.nodes.map(({ name }) => name),
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

/** Runs all clean-up functions, then rejects with the first failure, if any. */
async function runCleanUps(cleanUps: (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const cleanUp of cleanUps.reverse()) {
    try {
      await cleanUp();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

const sampleMs = 1;
/** Utilization of the event loop up to which a sample counts as idle. */
const maxIdleUtilization = 0.3;
const idleSamples = 2;
/** Limit, because other code of this process may never be idle. */
const settleTimeoutMs = 150;

/**
 * Resolves when the event loop is idle. All parts of the cluster run in this process, so their pending requests are
 * complete then.
 */
export async function settle(): Promise<void> {
  const deadline = performance.now() + settleTimeoutMs;
  for (let idle = 0; idle < idleSamples && performance.now() < deadline; ) {
    const before = performance.eventLoopUtilization();
    await new Promise((resolve) => setTimeout(resolve, sampleMs));
    const { utilization } = performance.eventLoopUtilization(before);
    idle = utilization <= maxIdleUtilization && !hasFileRequests() ? idle + 1 : 0;
  }
}

/** File requests run in other threads while the event loop is idle. */
function hasFileRequests(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith("FSReq"));
}

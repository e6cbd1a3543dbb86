import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectCluster } from "../client/create-client.ts";
import { startCluster as startParts } from "../cluster/cluster.ts";
import { unmountBelow } from "../cluster/unmount-below.ts";
import { createFaults } from "./create-faults.ts";
import { createTestClient } from "./create-test-client.ts";
import { toMs } from "./duration.ts";
import { createMovableClock } from "./movable-clock.ts";
import { readOptions } from "./read-options.ts";
import { settle } from "./settle.ts";
import type { TestCluster, TestClusterOptions } from "./test-cluster.ts";

export { StatusError } from "../api/status-error.ts";
export type { ObjectTypes, ResourceName } from "../client/client.ts";
export type { Duration } from "./duration.ts";
export { WaitTimeoutError } from "./explain-wait.ts";
export type { Fault, Faults, Outage } from "./faults.ts";
export type { NewObject, ObjectRef, TestClient } from "./test-client.ts";
export type { ClusterClock, TestCluster, TestClusterOptions } from "./test-cluster.ts";

/** A whole cluster inside this process, ready to run pods. Whoever starts it closes it. */
export async function startCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const parts = readOptions(options, process.getuid?.() === 0);
  const clock = createMovableClock({ settle });
  /** What is to be undone, the latest first. */
  const started: (() => unknown)[] = [() => clock.stop()];
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= undoAll(started);
    return closing;
  };
  try {
    const dataDir = await mkdtemp(join(tmpdir(), "kindling-"));
    started.push(() => rm(dataDir, { recursive: true, force: true }));
    // A kubelet leaves the volumes of its pods standing.
    if (options.runtime === "real") started.push(() => unmountBelow(dataDir));
    const cluster = await startParts({ ...parts, dataDir, clock });
    started.push(cluster.close);
    const { url, kubeconfig } = cluster;
    const connection = await connectCluster({ kubeconfig, userAgent: "kindling-test" });
    started.push(() => connection.close());
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
          if (ms === Number.POSITIVE_INFINITY) throw new TypeError("duration: a clock is not moved for ever");
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

/** All of it, also where a part of it fails: the first failure is told in the end. */
async function undoAll(started: (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const undo of started.reverse()) {
    try {
      await undo();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

import { join } from "node:path";
import { createClient } from "../client/create-client.ts";
import { createHttpTransport } from "../client/http-transport.ts";
import { systemClock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { createScheduler } from "../scheduler/scheduler.ts";
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "./control-plane.ts";
import { type RunningNode, type RuntimeChoice, startNode } from "./node.ts";

export interface ClusterOptions extends ControlPlaneOptions {
  readonly runtime: RuntimeChoice;
  readonly nodes: number;
}

export interface Cluster {
  readonly url: string;
  readonly kubeconfig: string;
  readonly nodes: readonly RunningNode[];
  /** Ends everything but the containers. */
  close(): Promise<void>;
}

/** All parts in one process. Its nodes are ready, or soon will be, when this resolves. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { dataDir, runtime, features, logger } = options;
  const controlPlane = startControlPlane(options);
  const names = Array.from({ length: options.nodes }, (_, i) => `node-${i + 1}`);
  const starting = names.map((name) =>
    startNode({ name, dataDir: join(dataDir, "nodes", name), runtime, controlPlane, features, logger }),
  );
  const scheduler = controlPlane.then((started) => runScheduling(started, logger));
  const close = async () => {
    await (await scheduler).stop();
    // Also those that are only just starting when another one fails.
    for (const node of await Promise.allSettled(starting)) {
      if (node.status === "fulfilled") await node.value.close();
    }
    await (await controlPlane).close();
  };
  try {
    const { url, kubeconfig } = await controlPlane;
    return { url, kubeconfig, nodes: await Promise.all(starting), close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

/** Gives pods nodes until it is stopped. */
function runScheduling(controlPlane: ControlPlane, logger: Logger): { stop(): Promise<void> } {
  const access = controlPlane.access({ commonName: "system:kube-scheduler" });
  const client = createClient({
    transport: createHttpTransport({ access }),
    userAgent: "kindling-scheduler",
  });
  const stopping = new AbortController();
  const component = logger.component("scheduler");
  const running = createScheduler({ client, clock: systemClock, logger: component }).run(stopping.signal);
  // It ends before it is stopped only by a fault of its own; pods that run go on.
  running.catch((error) => component.error("the scheduler failed", { error }));
  return {
    async stop() {
      stopping.abort(new Error("the cluster stops"));
      await running.catch(() => {});
      client.close();
    },
  };
}

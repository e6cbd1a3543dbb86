import { join, resolve } from "node:path";
import type { Client } from "../client/client.ts";
import { createClient } from "../client/create-client.ts";
import { createHttpTransport } from "../client/http-transport.ts";
import { runControllers } from "../controllers/controller-manager.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { createScheduler } from "../scheduler/scheduler.ts";
import {
  type ControlPlane,
  type ControlPlaneOptions,
  type Subject,
  startControlPlane,
} from "./control-plane.ts";
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
  const components = controlPlane.then((started) => [
    startScheduler(started, logger),
    startControllers(started, options),
  ]);
  const close = async () => {
    await Promise.all((await components).map((component) => component.stop()));
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

interface Component {
  stop(): Promise<void>;
}

/** A part that knows the API only, under a name of its own there, until it is stopped. */
function startComponent(
  controlPlane: ControlPlane,
  { name, user, logger }: { readonly name: string; readonly user: Subject; readonly logger: Logger },
  run: (deps: { client: Client; clock: Clock; logger: Logger }, signal: AbortSignal) => Promise<void>,
): Component {
  const transport = createHttpTransport({ access: controlPlane.access(user) });
  const client = createClient({ transport, userAgent: `kindling-${name}` });
  const stopping = new AbortController();
  const component = logger.component(name);
  const running = run({ client, clock: systemClock, logger: component }, stopping.signal).catch((error) => {
    // Before it is stopped it ends only by a fault of its own; what runs goes on without it.
    if (!stopping.signal.aborted) component.error(`the ${name} failed`, { error });
  });
  return {
    async stop() {
      stopping.abort(new Error("the cluster stops"));
      await running;
      client.close();
    },
  };
}

function startScheduler(controlPlane: ControlPlane, logger: Logger): Component {
  const user = { commonName: "system:kube-scheduler" };
  return startComponent(controlPlane, { name: "scheduler", user, logger }, (deps, signal) =>
    createScheduler(deps).run(signal),
  );
}

function startControllers(
  controlPlane: ControlPlane,
  { dataDir, logger, features }: ClusterOptions,
): Component {
  // Upstream's controllers each act as a service account with just its rights; these are one, with the sum of them.
  const user = { commonName: "system:kube-controller-manager", organizations: ["system:masters"] };
  const localVolumes = { directory: resolve(dataDir, "volumes") };
  return startComponent(controlPlane, { name: "controllers", user, logger }, (deps, signal) =>
    runControllers({ ...deps, features, rootCa: controlPlane.ca, localVolumes }, signal),
  );
}

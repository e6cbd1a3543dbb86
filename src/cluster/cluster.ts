import { setMaxListeners } from "node:events";
import { join, resolve } from "node:path";
import {
  localVolumesUser,
  serviceAccountGroups,
  serviceAccountUsername,
} from "../apiserver/auth/user-info.ts";
import type { Client } from "../client/client.ts";
import { createClient } from "../client/create-client.ts";
import { runControllers } from "../controllers/controller-manager.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { createLimiter } from "../lib/limiter.ts";
import type { Logger } from "../lib/logger.ts";
import { createMetrics, type Metrics } from "../lib/metrics.ts";
import { createScheduler } from "../scheduler/scheduler.ts";
import { closeAfter, closeInTurn } from "./close-in-turn.ts";
import {
  type ControlPlane,
  type ControlPlaneOptions,
  type Subject,
  startControlPlane,
} from "./control-plane.ts";
import { dataDirPaths } from "./data-dir/data-dir-paths.ts";
import { type ClusterMonitor, type DashboardOptions, startClusterMonitor } from "./monitor.ts";
import { type NodeOptions, type RunningNode, startNode } from "./node.ts";

export interface ClusterOptions
  extends ControlPlaneOptions,
    Pick<NodeOptions, "runtime" | "ephemeral" | "runtimeConfig" | "kubeletConfig"> {
  readonly nodes: number;
  /** With it the cluster has a monitor, whose page is there. */
  readonly dashboard?: DashboardOptions;
}

export interface Cluster extends Pick<ControlPlane, "url" | "kubeconfig" | "stopServing" | "serveAgain"> {
  readonly nodes: readonly RunningNode[];
  /** The address of the page, where there is one. */
  readonly dashboard: string | undefined;
  /** Ends everything but the containers, and those too where they are ephemeral. */
  close(): Promise<void>;
}

/** A node that starts has several files and sockets open: thousands of them at once would be too many. */
const startingAtOnce = 50;

/** All parts in one process. Its nodes are ready, or soon will be, when this resolves. */
export async function startCluster(given: ClusterOptions): Promise<Cluster> {
  // One part that fails ends the start of all, as does whoever does not want the cluster any more.
  const failed = new AbortController();
  const signal = given.signal ? AbortSignal.any([given.signal, failed.signal]) : failed.signal;
  setMaxListeners(0, signal);
  const options: ClusterOptions = { ...given, signal };
  const { dataDir } = options;
  const metrics = createMetrics();
  const controlPlane = startControlPlane({ ...options, otherMetrics: metrics.text });
  const names = Array.from({ length: options.nodes }, (_, i) => `node-${i + 1}`);
  const inTurn = createLimiter(startingAtOnce);
  const starting = names.map((name) =>
    inTurn(() => {
      signal.throwIfAborted();
      return startNode({ ...options, name, dataDir: join(dataDirPaths(dataDir).nodes, name), controlPlane });
    }),
  );
  const components = controlPlane.then((started) => [
    startScheduler(started, { ...options, metrics }),
    startControllers(started, { ...options, metrics }),
  ]);
  let monitor: ClusterMonitor | undefined;
  // Also what is only just starting when another part fails.
  const close = () =>
    closeInTurn(
      async () => monitor?.close(),
      () => endEach([components], (started) => Promise.all(started.map((component) => component.stop()))),
      () => endEach(starting, (node) => node.close()),
      () => endEach([controlPlane], (served) => served.close()),
    );
  try {
    // Together: whichever fails first is the one to be told of.
    const [served, nodes] = await Promise.all([controlPlane, Promise.all(starting)]);
    const { url, kubeconfig, stopServing, serveAgain } = served;
    const { dashboard } = options;
    // Behind all else: nobody waits for it.
    if (dashboard) monitor = await startClusterMonitor(served, { ...options, dashboard });
    signal.throwIfAborted();
    return { url, kubeconfig, nodes, dashboard: monitor?.url, stopServing, serveAgain, close };
  } catch (error) {
    const isStop = signal.aborted;
    failed.abort(error);
    return closeAfter(isStop ? signal.reason : error, { isStop, close });
  }
}

/** Waits for what is starting, and ends what has started; what has failed is known already. */
async function endEach<T>(parts: readonly Promise<T>[], end: (part: T) => Promise<unknown>): Promise<void> {
  const settled = await Promise.allSettled(parts);
  const ended = await Promise.allSettled(
    settled.map((part) => part.status === "fulfilled" && end(part.value)),
  );
  for (const part of ended) if (part.status === "rejected") throw part.reason;
}

type ComponentOptions = ClusterOptions & { readonly metrics: Metrics };

interface Component {
  stop(): Promise<void>;
}

/** A part that knows the API only, under a name of its own there, until it is stopped. */
function startComponent(
  controlPlane: ControlPlane,
  {
    name,
    user,
    logger,
    clock = systemClock,
  }: Pick<ClusterOptions, "logger" | "clock"> & { readonly name: string; readonly user: Subject },
  run: (deps: { client: Client; clock: Clock; logger: Logger }, signal: AbortSignal) => Promise<void>,
): Component {
  const client = createClient({ transport: controlPlane.connect(user), userAgent: `kindling-${name}` });
  const stopping = new AbortController();
  const component = logger.component(name);
  const running = run({ client, clock, logger: component }, stopping.signal).catch((error) => {
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

function startScheduler(controlPlane: ControlPlane, { logger, clock, metrics }: ComponentOptions): Component {
  const user = { commonName: "system:kube-scheduler" };
  return startComponent(controlPlane, { name: "scheduler", user, logger, clock }, (deps, signal) =>
    createScheduler({ ...deps, metrics }).run(signal),
  );
}

function startControllers(
  controlPlane: ControlPlane,
  { dataDir, logger, clock, features, metrics }: ComponentOptions,
): Component {
  // As upstream's: one user that sees everything, and for each controller an account with just its rights.
  const user = { commonName: "system:kube-controller-manager" };
  return startComponent(controlPlane, { name: "controllers", user, logger, clock }, async (deps, signal) => {
    const clients: Client[] = [];
    const connect = (subject: Subject) => {
      const transport = controlPlane.connect(subject);
      const client = createClient({ transport, userAgent: "kindling-controllers" });
      clients.push(client);
      return client;
    };
    const clientAs = (account: string) =>
      connect({
        commonName: serviceAccountUsername("kube-system", account),
        organizations: serviceAccountGroups("kube-system"),
      });
    const classCreator = connect({ commonName: localVolumesUser });
    const localVolumes = { directory: resolve(dataDirPaths(dataDir).volumes), classCreator };
    const parts = { ...deps, clientAs, metrics, features, rootCa: controlPlane.ca, localVolumes };
    try {
      await runControllers(parts, signal);
    } finally {
      for (const client of clients) client.close();
    }
  });
}

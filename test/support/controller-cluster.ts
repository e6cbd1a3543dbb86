import { afterAll, beforeAll, expect } from "vitest";
import { defaultFeatures } from "../../src/api/feature-gates.ts";
import type { KubeObject } from "../../src/api/objects.ts";
import { StatusError } from "../../src/api/status-error.ts";
import type { Client, ObjectTypes, ResourceName } from "../../src/client/client.ts";
import { connectCluster } from "../../src/client/create-client.ts";
import { type ControllersOptions, runControllers } from "../../src/controllers/controller-manager.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createLogger, silentLogger } from "../../src/lib/logger.ts";
import { createScheduler } from "../../src/scheduler/scheduler.ts";
import { type SimulatedRuntime, startSimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { readCredentials, startTestServer, type TestServer } from "./api-server.ts";
import { createKubectl, type Kubectl } from "./kubectl.ts";
import { type KubeletNode, startKubeletNode } from "./kubelet-node.ts";

/** An API server with the controllers and the scheduler; with a node on the simulated runtime where one is wanted. */
export interface ControllerCluster {
  readonly server: TestServer;
  readonly client: Client;
  readonly kubectl: Kubectl;
  readonly node: KubeletNode;
  readonly simulated: SimulatedRuntime;
  startControllers(): Promise<void>;
  /** Breaks off in the middle of whatever they do. */
  stopControllers(): Promise<void>;
  /** How often they have written something. */
  writes(): number;
  apply(...objects: object[]): Promise<void>;
  find<Name extends ResourceName>(
    resource: Name,
    name: string,
    namespace?: string,
  ): Promise<ObjectTypes[Name] | undefined>;
  untilGone(resource: ResourceName, name: string, namespace?: string): Promise<void>;
}

interface ControllerClusterOptions {
  readonly withNode?: boolean;
  readonly controllers?: Partial<ControllersOptions>;
}

const logger = process.env.KINDLING_TEST_LOG
  ? createLogger({ format: "text", level: "debug" })
  : silentLogger;

/** Filled before the first test. */
export function useControllerCluster(options: ControllerClusterOptions = {}): ControllerCluster {
  const cluster = {} as { -readonly [Field in keyof ControllerCluster]: ControllerCluster[Field] };
  const closing: (() => unknown)[] = [];

  beforeAll(async () => {
    const server = await startTestServer();
    closing.push(() => server.close());
    const client = await connectCluster({ kubeconfig: server.kubeconfig });
    closing.push(() => client.close());
    Object.assign(cluster, { server, client, kubectl: createKubectl(server.kubeconfig) });
    if (options.withNode) {
      cluster.simulated = await startSimulatedRuntime({ logger: silentLogger, imagesPresent: true });
      closing.push(() => cluster.simulated.close());
      cluster.node = await startKubeletNode({ cri: cluster.simulated.client, server });
      closing.push(() => cluster.node.close());
      closing.push(await startScheduler(server));
    }
    Object.assign(cluster, await createControllers(server, options.controllers));
    await cluster.startControllers();
    closing.push(() => cluster.stopControllers());
  });
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
  });

  cluster.apply = async (...objects) => {
    await cluster.kubectl.ok("apply -f -", {
      input: JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
    });
  };
  cluster.find = async (resource, name, namespace = "default") => {
    try {
      return await cluster.client.get(resource, { namespace, name });
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    }
  };
  cluster.untilGone = async (resource, name, namespace) => {
    const metadataOf = async () => (await cluster.find(resource, name, namespace))?.metadata;
    await expect.poll(metadataOf, { timeout: 30_000, interval: 20 }).toBeUndefined();
  };
  return cluster;
}

async function createControllers(server: TestServer, options: Partial<ControllersOptions> = {}) {
  const rootCa = (await readCredentials(server.kubeconfig)).ca.toString();
  let running: { stop: AbortController; done: Promise<void>; client: Client } | undefined;
  let writes = 0;

  return {
    writes: () => writes,
    async startControllers() {
      const stop = new AbortController();
      const client = counting(await connectCluster({ kubeconfig: server.kubeconfig }), () => writes++);
      const done = runControllers(
        { client, clock: systemClock, logger, features: defaultFeatures, rootCa, ...options },
        stop.signal,
      );
      running = { stop, done, client };
    },
    async stopControllers() {
      if (!running) return;
      const { stop, done, client } = running;
      running = undefined;
      // The connection first: what is under way does not get to its end.
      client.close();
      stop.abort(new Error("the test stops the controllers"));
      await done;
    },
  };
}

function counting(client: Client, count: () => void): Client {
  const counted =
    <Arguments extends unknown[], Result>(call: (...given: Arguments) => Result) =>
    (...given: Arguments) => {
      count();
      return call(...given);
    };
  const { create, update, patch } = client;
  return {
    ...client,
    create: counted(create) as Client["create"],
    update: counted(update) as Client["update"],
    patch: counted(patch) as Client["patch"],
    delete: counted(client.delete) as Client["delete"],
  };
}

async function startScheduler(server: TestServer): Promise<() => Promise<void>> {
  const client = await connectCluster({ kubeconfig: server.kubeconfig });
  const stop = new AbortController();
  const running = createScheduler({ client, clock: systemClock, logger }).run(stop.signal);
  return async () => {
    stop.abort(new Error("the test stops the scheduler"));
    await running;
    client.close();
  };
}

/** A small object of the core API that holds nothing. */
export function configMap(name: string, metadata: Partial<KubeObject["metadata"]> = {}): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name, ...metadata } };
}

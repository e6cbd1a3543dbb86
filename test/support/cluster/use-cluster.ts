import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import type { Features } from "../../../src/api/meta/feature-gates.ts";
import type { Pod } from "../../../src/api/meta/objects.ts";
import { StatusError } from "../../../src/api/meta/status-error.ts";
import type { Client, ObjectTypes, ResourceName, Selection } from "../../../src/client/api/client.ts";
import { connectCluster } from "../../../src/client/api/create-client.ts";
import type { CriClient } from "../../../src/cri/cri-client.ts";
import type { SimulationRule } from "../../../src/simulated/scripts/rules.ts";
import type {
  SimulatedRuntime,
  SimulatedRuntimeOptions,
} from "../../../src/simulated/start-simulated-runtime.ts";
import { type KubeletNode, type KubeletNodeOptions, startKubeletNode } from "../node/kubelet-node.ts";
import { startSimulatedOnSocket } from "../node/simulated-on-socket.ts";
import { readCredentials, startTestServer, type TestServer } from "../servers/api-server.ts";
import { type Following, followObjects, type ObjectEvent } from "../servers/follow-objects.ts";
import {
  createTestControllers,
  startTestScheduler,
  type TestControllers,
  type TestControllersOptions,
} from "./run-controllers.ts";

/** An API server with nodes on simulated runtimes and, depending on the options, the scheduler and the controllers. */
export interface TestCluster extends TestControllers {
  readonly server: TestServer;
  readonly client: Client;
  readonly nodes: readonly SimulatedNode[];
  /** Kubelet of the first node. */
  readonly node: KubeletNode;
  /** Runtime of the first node. */
  readonly simulated: SimulatedRuntime;
  /** Adds a rule to the first node's runtime. It is removed after the test. */
  given(rule: SimulationRule): SimulationRule;
  find<Name extends ResourceName>(
    resource: Name,
    name: string,
    namespace?: string,
  ): Promise<ObjectTypes[Name] | undefined>;
  /** Lists the pods with this `app` label. */
  pods(app: string): Promise<Pod[]>;
  /** Lists the events of an object as `REASON: MESSAGE`. */
  messages(kind: string, name: string): Promise<string[]>;
  until(what: string, isTrue: () => Promise<boolean>, timeoutMs?: number): Promise<void>;
  untilGone(resource: ResourceName, name: string, namespace?: string): Promise<void>;
  /** Watches objects of the namespace `default` from now on. */
  follow<Name extends ResourceName>(
    resource: Name,
    selection: Omit<Selection, "signal" | "namespace">,
    onEvent: (event: ObjectEvent<Name>) => void,
  ): Promise<Following>;
}

interface SimulatedNode {
  readonly kubelet: KubeletNode;
  readonly simulated: SimulatedRuntime;
}

export interface TestClusterOptions {
  /** Feature gates of the API server and of the controllers. */
  readonly features?: Partial<Features>;
  /** Names of the nodes. Defaults to one node, `node-1`. */
  readonly nodes?: readonly string[];
  readonly kubelet?: Partial<KubeletNodeOptions>;
  /** Options of the simulated runtimes. By default every image is present, unless a rule pulls it. */
  readonly runtime?: Partial<SimulatedRuntimeOptions>;
  /** Wraps the connection of the kubelets to their runtime. */
  readonly wrapCri?: (cri: CriClient) => CriClient;
  /** Whether a scheduler runs. Defaults to true. */
  readonly scheduler?: boolean;
  /** Options of the controllers, or false for a cluster whose tests start controllers themselves. */
  readonly controllers?: TestControllersOptions | false;
}

const namespace = "default";

/**
 * Starts a cluster before the first test of a file (or of a `describe`) and stops it after the last one. The object that
 * it returns is empty until then.
 */
export function useCluster(options: TestClusterOptions = {}): TestCluster {
  const cluster = {} as TestCluster;
  const closing: (() => unknown)[] = [];
  const rules: SimulationRule[] = [];
  beforeAll(async () => {
    Object.assign(cluster, await startCluster(options, { closing, rules }));
    if (options.controllers !== false) await cluster.startControllers();
  });
  afterEach(() => {
    for (const rule of rules.splice(0)) cluster.simulated.rules.remove(rule);
  });
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
  });
  return cluster;
}

async function startCluster(
  options: TestClusterOptions,
  { closing, rules }: { closing: (() => unknown)[]; rules: SimulationRule[] },
): Promise<Omit<TestCluster, "node" | "simulated"> & Partial<Pick<TestCluster, "node" | "simulated">>> {
  const { features = {}, nodes: names = ["node-1"], scheduler = true } = options;
  const server = await startTestServer({ features });
  closing.push(() => server.close());
  const client = await connectCluster({ kubeconfig: server.kubeconfig });
  closing.push(() => client.close());
  const nodes: SimulatedNode[] = [];
  for (const name of names) {
    const simulated = await startSimulatedOnSocket({ imagesPresent: true, ...options.runtime });
    closing.push(() => simulated.close());
    const cri = options.wrapCri?.(simulated.client) ?? simulated.client;
    const kubelet = await startKubeletNode({ cri, server, name, ...options.kubelet });
    closing.push(() => kubelet.close());
    nodes.push({ kubelet, simulated });
  }
  // A kubelet that a test has stopped is restarted, so that its pods can terminate.
  closing.push(() => Promise.all(nodes.map(({ kubelet }) => kubelet.resume())));
  if (scheduler) closing.push(await startTestScheduler(server.kubeconfig));
  const rootCa = (await readCredentials(server.kubeconfig)).ca.toString();
  const controllers = createTestControllers(server.kubeconfig, {
    rootCa,
    features,
    ...options.controllers,
  });
  closing.push(controllers.stopControllers);

  const find: TestCluster["find"] = async (resource, name, of = namespace) => {
    try {
      return await client.get(resource, { namespace: of, name });
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    }
  };
  return {
    server,
    client,
    nodes,
    node: nodes[0]?.kubelet,
    simulated: nodes[0]?.simulated,
    ...controllers,
    given(rule) {
      rules.push(rule);
      return nodes[0]?.simulated.rules.add(rule) ?? rule;
    },
    find,
    pods: async (app) => [...(await client.list("pods", { namespace, labelSelector: `app=${app}` })).items],
    async messages(kind, name) {
      const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
      const { items } = await client.list("events", { fieldSelector });
      return items.map(({ reason, message }) => `${reason}: ${message}`);
    },
    async until(what, isTrue, timeoutMs = 60_000) {
      const deadline = Date.now() + timeoutMs;
      while (!(await isTrue())) {
        if (Date.now() > deadline) throw new Error(`${timeoutMs} ms have passed without this: ${what}`);
        await delay(20);
      }
    },
    async untilGone(resource, name, of) {
      const metadataOf = async () => (await find(resource, name, of))?.metadata;
      await expect.poll(metadataOf, { interval: 20 }).toBeUndefined();
    },
    follow: (resource, selection, onEvent) =>
      followObjects({ client, resource, selection: { namespace, ...selection }, onEvent }),
  };
}

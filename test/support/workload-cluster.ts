import { afterAll, beforeAll, expect } from "vitest";
import type { Deployment, Event, Pod, ReplicaSet } from "../../src/api/objects.ts";
import type { Client, ObjectTypes, ResourceName, Selection, WatchEvent } from "../../src/client/client.ts";
import { connectCluster } from "../../src/client/create-client.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { type SimulatedRuntime, startSimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { startTestServer, type TestServer } from "./api-server.ts";
import { createKubectl, type Kubectl } from "./kubectl.ts";
import { type KubeletNode, type KubeletNodeOptions, startKubeletNode } from "./kubelet-node.ts";
import { createTestControllers, startTestScheduler, type TestControllers } from "./run-controllers.ts";
import { watchedVersions } from "./watched-versions.ts";

/** A cluster of simulated nodes with the scheduler and all controllers, all real but for the containers. */
export interface WorkloadCluster extends TestControllers {
  readonly server: TestServer;
  readonly client: Client;
  readonly kubectl: Kubectl;
  readonly nodes: readonly SimulatedKubelet[];
  deployment(name: string): Promise<Deployment>;
  /** The newest revision first. */
  replicaSets(app: string): Promise<ReplicaSet[]>;
  pods(app: string): Promise<Pod[]>;
  messages(kind: string, name: string): Promise<string[]>;
  /** What happens from now on, in order. */
  follow<Name extends ResourceName>(
    resource: Name,
    selection: Omit<Selection, "signal" | "namespace">,
    see: (event: Exclude<WatchEvent<ObjectTypes[Name]>, { type: "BOOKMARK" }>) => void,
  ): Promise<{ stop(): Promise<void> }>;
}

interface SimulatedKubelet {
  readonly kubelet: KubeletNode;
  readonly simulated: SimulatedRuntime;
}

interface WorkloadClusterOptions {
  readonly nodes?: readonly string[];
  readonly kubelet?: Partial<KubeletNodeOptions>;
  /** Of the controllers. */
  readonly clock?: Clock;
}

const namespace = "default";

/** Filled before the first test. */
export function useWorkloadCluster(options: WorkloadClusterOptions = {}): WorkloadCluster {
  // Tests are declared before the cluster runs: what they hold is filled in later.
  const cluster = {} as WorkloadCluster;
  const closing: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    Object.assign(cluster, await start(options, closing));
    await cluster.startControllers();
  });
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
  });
  return cluster;
}

async function start(
  { nodes: names = ["node-1"], kubelet: kubeletOptions, clock = systemClock }: WorkloadClusterOptions,
  closing: (() => Promise<void>)[],
): Promise<WorkloadCluster> {
  const server = await startTestServer();
  closing.push(() => server.close());
  const client = await connectCluster({ kubeconfig: server.kubeconfig });
  closing.push(async () => client.close());
  const nodes: SimulatedKubelet[] = [];
  for (const name of names) {
    const simulated = await startSimulatedRuntime({ logger: silentLogger, imagesPresent: true });
    closing.push(() => simulated.close());
    const kubelet = await startKubeletNode({ cri: simulated.client, server, name, ...kubeletOptions });
    closing.push(() => kubelet.close());
    nodes.push({ kubelet, simulated });
  }
  // A node that a test has stopped goes on, so that its pods can end.
  closing.push(
    async () =>
      void (await Promise.all(nodes.map(({ kubelet }) => kubelet.stop().then(() => kubelet.start())))),
  );
  closing.push(await startTestScheduler(server.kubeconfig));
  const controllers = createTestControllers(server.kubeconfig, { clock });
  closing.push(controllers.stopControllers);

  async function pods(app: string): Promise<Pod[]> {
    return [...(await client.list("pods", { namespace, labelSelector: `app=${app}` })).items];
  }
  return {
    server,
    client,
    kubectl: createKubectl(server.kubeconfig),
    nodes,
    ...controllers,
    deployment: (name) => client.get("deployments", { namespace, name }),
    async replicaSets(app) {
      const { items } = await client.list("replicasets", { namespace, labelSelector: `app=${app}` });
      return [...items].sort((a, b) => revisionOf(b) - revisionOf(a));
    },
    pods,
    async messages(kind, name) {
      const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
      const { items } = await client.list("events", { fieldSelector });
      return items.map(({ reason, message }: Event) => `${reason}: ${message}`);
    },
    async follow(resource, selection, see) {
      const list = () => client.list(resource, { namespace, ...selection });
      const { items, resourceVersion } = await list();
      const versions = watchedVersions(items);
      const ending = new AbortController();
      const options = { namespace, ...selection, resourceVersion, signal: ending.signal };
      let failure: unknown;
      const done = (async () => {
        for await (const event of client.watch(resource, options)) {
          versions.see(event);
          if (event.type !== "BOOKMARK") see(event);
        }
      })().catch((error) => {
        if (!ending.signal.aborted) failure = error;
      });
      return {
        async stop() {
          if (!failure) await versions.untilAllIsSeen(list);
          ending.abort();
          await done;
          if (failure) throw failure;
        },
      };
    },
  };
}

function revisionOf({ metadata }: ReplicaSet): number {
  return Number(metadata.annotations?.["deployment.kubernetes.io/revision"]);
}

/** A Deployment of small pods that end at once. */
export function deploymentOf(
  name: string,
  {
    replicas = 3,
    image = "web:1",
    pod,
    annotations,
    ...spec
  }: Record<string, unknown> & { pod?: object } = {},
) {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, annotations },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      ...spec,
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 1,
          automountServiceAccountToken: false,
          dnsPolicy: "Default",
          containers: [{ name: "c", image }],
          ...pod,
        },
      },
    },
  };
}

export function apply(kubectl: Kubectl, manifest: object): Promise<string> {
  return kubectl.ok("apply -f -", { input: JSON.stringify(manifest) });
}

/** Polls until it is so. */
export function eventually<T>(get: () => Promise<T>) {
  return expect.poll(get, { interval: 50 });
}

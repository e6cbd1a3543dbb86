import { setTimeout as delay } from "node:timers/promises";
import { defaultFeatures, type Features } from "../../src/api/feature-gates.ts";
import type { Event, Pod, StatefulSet } from "../../src/api/objects.ts";
import type { Client } from "../../src/client/client.ts";
import { connectCluster } from "../../src/client/create-client.ts";
import { type Logger, silentLogger } from "../../src/lib/logger.ts";
import { type SimulatedRuntime, startSimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { startTestServer, type TestServer } from "./api-server.ts";
import { type KubeletNode, startKubeletNode } from "./kubelet-node.ts";
import { createTestControllers } from "./run-controllers.ts";
import { watchedVersions } from "./watched-versions.ts";

/** An API server, a node on the simulated runtime and the controllers, all real but for the containers. */
export interface StatefulSetCluster {
  readonly server: TestServer;
  readonly client: Client;
  readonly simulated: SimulatedRuntime;
  readonly node: KubeletNode;
  startControllers(options?: {
    features?: Partial<Features>;
    dryRun?: boolean;
    logger?: Logger;
  }): Promise<void>;
  /** Breaks off in the middle of whatever they do. */
  stopControllers(): Promise<void>;
  /** How many requests they have made that are no lists and no watches. */
  calls(): number;
  create(name: string, spec: SetSpec, annotations?: Record<string, string>): Promise<StatefulSet>;
  get(name: string): Promise<StatefulSet>;
  patch(name: string, body: unknown): Promise<StatefulSet>;
  setImage(name: string, image: string): Promise<StatefulSet>;
  /** By ordinal. */
  pods(name: string): Promise<Pod[]>;
  /** `web-0=web:1 ready`, in order of the ordinals. */
  picture(name: string): Promise<string[]>;
  until(what: string, is: () => Promise<boolean>, timeoutMs?: number): Promise<void>;
  untilPicture(name: string, expected: readonly string[], timeoutMs?: number): Promise<void>;
  events(name: string): Promise<readonly Event[]>;
  /** Pods as they come and go from now on: `+web-0=web:1`, `-web-0=web:1`. Fails when two have one name at a time. */
  follow(name: string): Promise<PodLog>;
  close(): Promise<void>;
}

interface PodLog {
  readonly lines: readonly string[];
  stop(): Promise<void>;
}

interface SetSpec {
  readonly replicas?: number;
  readonly image?: string;
  /** More of the StatefulSet's spec. */
  readonly spec?: Record<string, unknown>;
  /** More of the pods' spec. */
  readonly pod?: Record<string, unknown>;
  readonly container?: Record<string, unknown>;
}

/** What cannot become an image: its container waits with `InvalidImageName`, for good. */
export const brokenImage = "Broken:1";

/** As `picture` draws a set whose pods are all ready, from the ordinal 0 on. */
export const readyPods = (name: string, count: number, image = "web:1"): string[] =>
  Array.from({ length: count }, (_, ordinal) => `${name}-${ordinal}=${image} ready`);

/** With these gates in the API server, and in controllers unless they are given others. */
export async function startStatefulSetCluster({
  features: gates = {},
}: {
  features?: Partial<Features>;
} = {}): Promise<StatefulSetCluster> {
  const server = await startTestServer({ features: gates });
  const simulated = await startSimulatedRuntime({ logger: silentLogger, imagesPresent: true });
  const node = await startKubeletNode({ cri: simulated.client, server });
  const client = await connectCluster({ kubeconfig: server.kubeconfig });
  const controllers = createTestControllers(server.kubeconfig);

  async function pods(name: string): Promise<Pod[]> {
    const { items } = await client.list("pods", { namespace: "default", labelSelector: `app=${name}` });
    const ordinal = ({ metadata }: Pod) => Number(metadata.name?.split("-").at(-1));
    return [...items].sort((a, b) => ordinal(a) - ordinal(b));
  }

  const picture = async (name: string) => (await pods(name)).map(draw);

  async function until(what: string, is: () => Promise<boolean>, timeoutMs = 60_000): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (!(await is())) {
      if (Date.now() > deadline) throw new Error(`it did not come to this: ${what}`);
      await delay(20);
    }
  }

  return {
    server,
    client,
    simulated,
    node,
    startControllers: ({ features, ...options } = {}) =>
      controllers.startControllers({ ...options, features: { ...defaultFeatures, ...gates, ...features } }),
    stopControllers: controllers.stopControllers,
    calls: controllers.calls,
    create: (name, spec, annotations) =>
      client.create("statefulsets", manifest(name, node.name, spec, annotations)),
    get: (name) => client.get("statefulsets", { namespace: "default", name }),
    patch: (name, body) =>
      client.patch("statefulsets", { namespace: "default", name }, { patch: { kind: "strategic", body } }),
    setImage: (name, image) =>
      client.patch(
        "statefulsets",
        { namespace: "default", name },
        {
          patch: {
            kind: "strategic",
            body: { spec: { template: { spec: { containers: [{ name: "c", image }] } } } },
          },
        },
      ),
    pods,
    picture,
    until,
    async untilPicture(name, expected, timeoutMs = 60_000) {
      let last: string[] = [];
      try {
        await until(
          expected.join(", "),
          async () => {
            last = await picture(name);
            return last.join() === expected.join();
          },
          timeoutMs,
        );
      } catch (error) {
        const { status } = await client.get("statefulsets", { namespace: "default", name });
        throw new Error(`${error}\nbut to ${last.join(", ")}\n${JSON.stringify(status)}`);
      }
    },
    async events(name) {
      const fieldSelector = `involvedObject.name=${name},involvedObject.kind=StatefulSet`;
      return (await client.list("events", { namespace: "default", fieldSelector })).items;
    },
    async follow(name) {
      const selection = { namespace: "default", labelSelector: `app=${name}` };
      const { items, resourceVersion } = await client.list("pods", selection);
      const versions = watchedVersions(items);
      const lines: string[] = [];
      const ending = new AbortController();
      // The API cannot have two pods of one name; the node can.
      const looking = setInterval(() => lines.push(...findTwins(simulated, name)), 5);
      const done = (async () => {
        for await (const event of client.watch("pods", {
          ...selection,
          resourceVersion,
          signal: ending.signal,
        })) {
          versions.see(event);
          if (event.type !== "ADDED" && event.type !== "DELETED") continue;
          const { metadata, spec } = event.object;
          const line = `${metadata.name}=${spec?.containers[0]?.image}`;
          lines.push(`${event.type === "ADDED" ? "+" : "-"}${line}`);
        }
      })().catch((error) => {
        if (!ending.signal.aborted) throw error;
      });
      return {
        lines,
        async stop() {
          await versions.untilAllIsSeen(() => client.list("pods", selection));
          clearInterval(looking);
          ending.abort();
          await done;
        },
      };
    },
    async close() {
      await controllers.stopControllers();
      await node.close();
      client.close();
      await simulated.close();
      await server.close();
    },
  };
}

/** A line for each pod of the set of which another one, of the same name, has a sandbox at the same time. */
function findTwins({ state }: SimulatedRuntime, set: string): string[] {
  const uids = new Map<string, string>();
  const twins: string[] = [];
  for (const { metadata, state: sandboxState } of state.sandboxes.values()) {
    if (sandboxState !== "ready" || metadata.name.replace(/-\d+$/, "") !== set) continue;
    const other = uids.get(metadata.name) ?? metadata.uid;
    if (other !== metadata.uid) twins.push(`two of ${metadata.name}`);
    uids.set(metadata.name, metadata.uid);
  }
  return twins;
}

function draw({ metadata, spec, status }: Pod): string {
  const ready = status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  const state = metadata.deletionTimestamp ? "going" : ready ? "ready" : "waiting";
  return `${metadata.name}=${spec?.containers[0]?.image} ${state}`;
}

function manifest(
  name: string,
  nodeName: string,
  set: SetSpec,
  annotations?: Record<string, string>,
): StatefulSet {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name, namespace: "default", annotations },
    spec: {
      replicas: set.replicas ?? 3,
      selector: { matchLabels: labels },
      serviceName: name,
      ...set.spec,
      template: {
        metadata: { labels },
        spec: {
          nodeName,
          terminationGracePeriodSeconds: 1,
          automountServiceAccountToken: false,
          dnsPolicy: "Default",
          containers: [{ name: "c", image: set.image ?? "web:1", ...set.container }],
          ...set.pod,
        },
      },
    },
  };
}

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { parse, stringify } from "yaml";
import type { Event, Node, Pod, PodCondition } from "../../../src/api/meta/objects.ts";
import type { Client } from "../../../src/client/api/client.ts";
import { connectCluster } from "../../../src/client/api/create-client.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { createScheduler } from "../../../src/scheduler/scheduler.ts";
import { temporaryFolder } from "../files/temporary-folder.ts";
import { makePod, type PodSpecFields } from "../manifests/pod.ts";
import { startTestServer, type TestServer } from "../servers/api-server.ts";

export const namespace = "default";

type PodParts = PodSpecFields & { cpu?: string; labels?: Record<string, string> };

/** An API server for each test, without kubelets: tests write the nodes. */
export interface SchedulerCluster {
  readonly client: Client;
  /** With the rights of a scheduler, and no others. */
  readonly own: Client;
  /** Until the function that it returns is called, or the test ends. */
  startScheduler(options?: { over?: Client; schedulerName?: string }): () => Promise<void>;
  /** Something else to stop after the test. */
  afterwards(stop: () => Promise<void>): void;
  createPod(name: string, parts?: PodParts, over?: Client): Promise<Pod>;
  getPod(name: string): Promise<Pod>;
  nodeOf(name: string): Promise<string | undefined>;
  /** PodScheduled. */
  conditionOf(name: string): Promise<PodCondition | undefined>;
  eventsOf(name: string, reason: string): Promise<readonly Event[]>;
  untilBound(name: string): Promise<void>;
  untilRefused(name: string, message: string): Promise<void>;
}

export function useSchedulerCluster(): SchedulerCluster {
  const folder = temporaryFolder();
  let server: TestServer;
  let client: Client;
  let own: Client;
  let stops: (() => Promise<void>)[];
  beforeEach(async () => {
    server = await startTestServer({ tokens: "scheduler-token,system:kube-scheduler,1\n" });
    client = await connectCluster({ kubeconfig: server.kubeconfig });
    const kubeconfig = parse(await readFile(server.kubeconfig, "utf8"));
    kubeconfig.users[0].user = { token: "scheduler-token" };
    const file = join(folder, "scheduler.kubeconfig");
    await writeFile(file, stringify(kubeconfig));
    own = await connectCluster({ kubeconfig: file });
    stops = [];
  });
  afterEach(async () => {
    for (const stop of stops) await stop();
    own.close();
    client.close();
    await server.close();
  });

  const getPod = (name: string) => client.get("pods", { namespace, name });
  const nodeOf = async (name: string) => (await getPod(name)).spec?.nodeName;
  const conditionOf = async (name: string) =>
    (await getPod(name)).status?.conditions?.find(({ type }) => type === "PodScheduled");
  return {
    get client() {
      return client;
    },
    get own() {
      return own;
    },
    startScheduler({ over = own, schedulerName } = {}) {
      const stop = new AbortController();
      const scheduler = createScheduler({
        client: over,
        schedulerName,
        clock: systemClock,
        logger: silentLogger,
      });
      const running = scheduler.run(stop.signal);
      const end = async () => {
        stop.abort();
        await running;
      };
      stops.push(end);
      return end;
    },
    afterwards: (stop) => void stops.push(stop),
    createPod(name, { cpu, labels, ...spec } = {}, over = client) {
      const resources = cpu ? { requests: { cpu } } : undefined;
      return over.create("pods", makePod(name, { metadata: { labels }, container: { resources }, ...spec }));
    },
    getPod,
    nodeOf,
    conditionOf,
    eventsOf: async (name, reason) =>
      (await client.list("events", { namespace })).items.filter(
        (event) => event.involvedObject.name === name && event.reason === reason,
      ),
    untilBound: (name) => expect.poll(() => nodeOf(name), { interval: 20 }).toBeTruthy(),
    untilRefused: (name, message) =>
      expect.poll(async () => (await conditionOf(name))?.message, { interval: 20 }).toContain(message),
  };
}

export function makeNode(name: string, parts: Partial<NonNullable<Node["spec"]>> = {}, cpu = "2"): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name } },
    spec: parts,
    status: { allocatable: { cpu, memory: "4Gi", pods: "110" } },
  };
}

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultFeatures, type Features } from "../../../src/api/meta/feature-gates.ts";
import type { Event, ObjectMeta, Pod } from "../../../src/api/meta/objects.ts";
import { StatusError } from "../../../src/api/meta/status-error.ts";
import { versionInfo } from "../../../src/api/meta/version.ts";
import type { Client } from "../../../src/client/api/client.ts";
import { connectCluster } from "../../../src/client/api/create-client.ts";
import type { CriClient } from "../../../src/cri/cri-client.ts";
import {
  type KubeletConfiguration,
  parseKubeletConfiguration,
} from "../../../src/kubelet/config/kubelet-configuration.ts";
import { createKubelet, type Kubelet, type KubeletOptions } from "../../../src/kubelet/kubelet.ts";
import { createLogger, type Logger, silentLogger } from "../../../src/lib/logger.ts";
import { makePod, type PodSpecFields } from "../manifests/pod.ts";
import { startTestServer, type TestServer } from "../servers/api-server.ts";

/** A kubelet under a real API server of ours, on a runtime that the test brings. */
export interface KubeletNode {
  readonly name: string;
  readonly server: TestServer;
  readonly client: Client;
  readonly dataDir: string;
  /** Creates a pod (see `makePod`) that is bound to this node. */
  run(name: string, spec?: PodSpecFields, metadata?: ObjectMeta): Promise<Pod>;
  get(name: string): Promise<Pod | undefined>;
  /** Waits until the pod meets the condition; on timeout the error has its last state. */
  until(name: string, what: (pod: Pod) => boolean, timeoutMs?: number): Promise<Pod>;
  untilGone(name: string): Promise<void>;
  events(name: string): Promise<readonly Event[]>;
  untilEvent(name: string, matching: RegExp): Promise<Event>;
  /** Every version of the pod from now on, in the order in which the API had them; the pod may be yet to come. */
  follow(name: string): Promise<PodHistory>;
  /** The node goes down, gracefully. */
  shutDown(): Promise<void>;
  /** Stops the kubelet; containers go on. */
  stop(): Promise<void>;
  /** The same without waiting for anything that it still does. */
  kill(): void;
  /** A new kubelet where the last one was. */
  start(options?: StartOptions): Promise<void>;
  /** Starts the kubelet if it is stopped. */
  resume(): Promise<void>;
  close(): Promise<void>;
}

interface StartOptions {
  readonly features?: Partial<Features>;
  /** Whether to wait until it has registered its node and listed its pods. Defaults to true. */
  readonly untilReady?: boolean;
  readonly adoptSandboxes?: boolean;
}

interface PodHistory {
  readonly versions: readonly Pod[];
  stop(): Promise<void>;
}

export interface KubeletNodeOptions {
  readonly cri: CriClient;
  readonly server?: TestServer;
  readonly features?: Partial<Features>;
  /** Fields of the kubelet's configuration file. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly name?: string;
  readonly logger?: Logger;
  /** What volumes wait for. */
  readonly beforeVolume?: KubeletOptions["beforeVolume"];
  /** What stands between the kubelet and the API server. */
  readonly through?: (client: Client) => Client;
}

export async function startKubeletNode(options: KubeletNodeOptions): Promise<KubeletNode> {
  const server = options.server ?? (await startTestServer());
  const dataDir = await mkdtemp(join(tmpdir(), "kindling-kubelet-"));
  const client = await connectCluster({ kubeconfig: server.kubeconfig });
  const name = options.name ?? "node-1";
  const logger =
    options.logger ??
    (process.env.KINDLING_TEST_LOG ? createLogger({ format: "text", level: "debug" }) : silentLogger);
  let running: { stop: AbortController; done: Promise<void>; kubelet: Kubelet } | undefined;

  const killed = new Set<Promise<void>>();

  async function start(given: StartOptions = {}): Promise<void> {
    const { features, untilReady = true, adoptSandboxes = false } = given;
    const stop = new AbortController();
    const own = await connectCluster({ kubeconfig: server.kubeconfig });
    const creating = createKubelet(
      {
        client: options.through?.(own) ?? own,
        cri: options.cri,
        nodeName: name,
        dataDir,
        config: configuration(options.config),
        features: { ...defaultFeatures, ...options.features, ...features },
        version: versionInfo.gitVersion,
        clientCa: await readFile(join(server.dataDir, "pki/ca.crt"), "utf8"),
        ...(options.beforeVolume && { beforeVolume: options.beforeVolume }),
        adoptSandboxes,
        logger,
      },
      stop.signal,
    );
    const kubelet = await creating.catch((error) => {
      own.close();
      throw error;
    });
    const done = kubelet.run(stop.signal).finally(() => own.close());
    running = { stop, done, kubelet };
    // A kubelet that has exited cannot be stopped.
    done.catch(() => {
      running = undefined;
    });
    if (untilReady) await Promise.race([kubelet.ready, done]);
  }

  function kill(): void {
    if (!running) return;
    running.stop.abort(new Error("the test kills the kubelet"));
    killed.add(running.done);
    running = undefined;
  }

  async function stop(): Promise<void> {
    running?.stop.abort(new Error("the test stops the kubelet"));
    await running?.done;
    running = undefined;
  }

  async function resume(): Promise<void> {
    if (!running) await start();
  }

  async function get(podName: string): Promise<Pod | undefined> {
    try {
      return await client.get("pods", { namespace: "default", name: podName });
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    }
  }

  async function until(podName: string, what: (pod: Pod) => boolean, timeoutMs = 60_000): Promise<Pod> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const pod = await get(podName);
      if (pod && what(pod)) return pod;
      if (Date.now() > deadline) {
        throw new Error(
          `pod ${podName} did not get there: ${what}\n${JSON.stringify(pod?.status, undefined, 1)}`,
        );
      }
      await pause();
    }
  }

  async function events(podName: string): Promise<readonly Event[]> {
    const fieldSelector = `involvedObject.name=${podName}`;
    return (await client.list("events", { namespace: "default", fieldSelector })).items;
  }

  await start().catch(async (error) => {
    client.close();
    await rm(dataDir, { recursive: true, force: true });
    throw error;
  });
  return {
    name,
    server,
    client,
    dataDir,
    run: (podName, spec, metadata) =>
      client.create("pods", makePod(podName, { metadata, nodeName: name, ...spec })),
    get,
    until,
    async untilGone(podName) {
      const deadline = Date.now() + 60_000;
      while (await get(podName)) {
        if (Date.now() > deadline) throw new Error(`pod ${podName} does not go`);
        await pause();
      }
    },
    events,
    async untilEvent(podName, matching) {
      const deadline = Date.now() + 60_000;
      for (;;) {
        const all = await events(podName);
        const found = all.find(({ message }) => matching.test(message ?? ""));
        if (found) return found;
        if (Date.now() > deadline) {
          throw new Error(`no event ${matching} among\n${all.map(({ message }) => message).join("\n")}`);
        }
        await pause();
      }
    },
    shutDown: async () => running?.kubelet.shutDown(),
    follow: (podName) => follow(client, podName),
    stop,
    kill,
    start,
    resume,
    async close() {
      // The kubelet unmounts its volumes.
      await resume();
      await client.deleteCollection("pods", { namespace: "default" });
      const deadline = Date.now() + 60_000;
      while ((await client.list("pods", {})).items.length > 0) {
        if (Date.now() > deadline) throw new Error("some pods do not go");
        await pause();
      }
      await stop();
      await Promise.all(killed);
      client.close();
      if (!options.server) await server.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function follow(client: Client, podName: string): Promise<PodHistory> {
  const { resourceVersion } = await client.list("pods", { namespace: "default" });
  const stopping = new AbortController();
  const versions: Pod[] = [];
  let failed: unknown;
  const fieldSelector = `metadata.name=${podName}`;
  const watching = (async () => {
    const options = { namespace: "default", fieldSelector, resourceVersion, signal: stopping.signal };
    for await (const event of client.watch("pods", options)) {
      if (event.type !== "BOOKMARK") versions.push(event.object);
    }
  })().catch((error) => {
    if (!stopping.signal.aborted) failed = error;
  });
  return {
    versions,
    async stop() {
      stopping.abort(new Error("the test has seen enough"));
      await watching;
      if (failed) throw failed;
    },
  };
}

function configuration(fields: Readonly<Record<string, unknown>> = {}): KubeletConfiguration {
  const kind = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
  // Several kubelets may be here at once: each serves where there is room.
  const file = { ...kind, address: "127.0.0.1", port: 0, ...fields };
  return parseKubeletConfiguration(JSON.stringify(file), "the test's configuration");
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}

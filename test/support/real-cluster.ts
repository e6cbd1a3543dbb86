import { join } from "node:path";
import { afterAll, beforeAll, expect, vi } from "vitest";
import type { Pod, StatefulSet } from "../../src/api/objects.ts";
import type { Client } from "../../src/client/client.ts";
import { connectCluster } from "../../src/client/create-client.ts";
import { orderFromDaemon } from "../../src/runtime/control-server.ts";
import { writeBusyboxTree } from "./cri-runtime.ts";
import type { Kubectl } from "./kubectl.ts";
import { startUp, type UpProcess } from "./up-process.ts";
import { watchedVersions } from "./watched-versions.ts";

/** `kindling up` in a process of its own, with real containers and the images `test.local/web:1` and `:2`. */
export interface RealCluster {
  readonly kubectl: Kubectl;
  readonly kubeconfig: string;
  apply(manifest: object): Promise<string>;
  /** `kill -9` of all but the containers, and `up` once more. */
  killAndStart(): Promise<void>;
  pods(app: string): Promise<Pod[]>;
  /** What happens to pods from now on: `+db-0`, `db-0 ready`, `db-0 going`, `-db-0`. */
  follow(app: string): Promise<PodLog>;
  /** `db-0=test.local/web:1 ready`, by name. */
  picture(app: string): Promise<string[]>;
  untilPicture(app: string, expected: readonly string[]): Promise<void>;
}

interface PodLog {
  readonly lines: readonly string[];
  /** Resolves once it has come to this line. */
  until(line: string): Promise<void>;
  stop(): Promise<void>;
}

export const webImage = (version: number) => `test.local/web:${version}`;

/**
 * Says when it starts and ends, to its volume where it has one. A signal is only noted, so that no line is missing,
 * wherever it comes in between.
 */
const script = `trap 'told=1' TERM
if [ -d /data ]; then exec >> /data/journal; fi
echo "+$VERSION"
while [ -z "$told" ]; do sleep 0.1; done
echo "-$VERSION"`;

/** Images of one layer, in the runtime whose directory it is. */
export async function buildWebImages(runtimeDir: string, folder: string): Promise<void> {
  const directory = join(folder, "web");
  await writeBusyboxTree(directory);
  for (const version of [1, 2]) {
    const env = [`VERSION=${version}`, "PATH=/bin"];
    const options = { directory, tag: webImage(version), command: ["sh", "-c", script], env };
    await orderFromDaemon(runtimeDir, { kind: "build", options });
  }
}

/** Filled before the first test. */
export function useRealCluster(folder: string): RealCluster {
  const cluster = {} as { -readonly [Field in keyof RealCluster]: RealCluster[Field] };
  const dataDir = join(folder, "data");
  // Real containers take their time where others have the machine.
  vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
  let up: UpProcess | undefined;
  let client: Client | undefined;
  async function start(): Promise<void> {
    up = await startUp(["--data-dir", dataDir]);
    client?.close();
    client = await connectCluster(up);
    Object.assign(cluster, { kubectl: up.kubectl, kubeconfig: up.kubeconfig });
  }
  beforeAll(async () => {
    await start();
    await buildWebImages(join(dataDir, "nodes/node-1/runtime"), folder);
  });
  afterAll(async () => {
    await up?.kubectl.run("delete statefulsets,deployments --all --cascade=foreground --timeout=100s");
    await up?.kubectl.run("delete pods --all --timeout=100s");
    client?.close();
    await up?.kill("SIGTERM");
  });

  async function pods(app: string): Promise<Pod[]> {
    const selection = { namespace: "default", labelSelector: `app=${app}` };
    return [...((await client?.list("pods", selection))?.items ?? [])];
  }
  const picture = async (app: string) => (await pods(app)).map(draw).sort();

  return Object.assign(cluster, {
    apply: (manifest: object) => cluster.kubectl.ok("apply -f -", { input: JSON.stringify(manifest) }),
    async killAndStart() {
      await up?.kill("SIGKILL");
      await start();
    },
    pods,
    picture,
    untilPicture: (app: string, expected: readonly string[]) =>
      expect.poll(() => picture(app), { timeout: 60_000, interval: 100 }).toEqual(expected),
    follow: (app: string) => followPods(cluster.kubeconfig, app),
  });
}

async function followPods(kubeconfig: string, app: string): Promise<PodLog> {
  const client = await connectCluster({ kubeconfig });
  const selection = { namespace: "default", labelSelector: `app=${app}` };
  const { items, resourceVersion } = await client.list("pods", selection);
  const lines: string[] = [];
  const ending = new AbortController();
  const versions = watchedVersions(items);
  let isOver = false;
  const states = new Map(items.map((pod) => [pod.metadata.name, stateOf(pod)]));

  function see(type: "ADDED" | "MODIFIED" | "DELETED", pod: Pod): void {
    const { name } = pod.metadata;
    if (type === "DELETED") {
      states.delete(name);
      lines.push(`-${name}`);
      return;
    }
    if (type === "ADDED") lines.push(`+${name}`);
    const state = stateOf(pod);
    if (state !== "waiting" && state !== states.get(name)) lines.push(`${name} ${state}`);
    states.set(name, state);
  }

  const watching = (async () => {
    for await (const event of client.watch("pods", {
      ...selection,
      resourceVersion,
      signal: ending.signal,
    })) {
      versions.see(event);
      if (event.type !== "BOOKMARK") see(event.type, event.object);
    }
  })()
    .catch(() => {})
    .finally(() => {
      isOver = true;
    });
  return {
    lines,
    until: (line) => expect.poll(() => lines, { timeout: 60_000, interval: 10 }).toContain(line),
    async stop() {
      // Where the server was killed, what was seen until then is what is asked for.
      if (!isOver) await versions.untilAllIsSeen(() => client.list("pods", selection));
      ending.abort();
      await watching;
      client.close();
    },
  };
}

function stateOf({ metadata, status }: Pod): "going" | "ready" | "waiting" {
  if (metadata.deletionTimestamp) return "going";
  const isReady = status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True");
  return isReady ? "ready" : "waiting";
}

function draw(pod: Pod): string {
  return `${pod.metadata.name}=${pod.spec?.containers[0]?.image} ${stateOf(pod)}`;
}

type Kind = "statefulset" | "deployment";

/** A workload of pods that run the web image. */
export function webOf(
  kind: Kind,
  name: string,
  {
    replicas,
    claims = false,
    ...spec
  }: { replicas: number; claims?: boolean } & Partial<StatefulSet["spec"]>,
): object {
  const labels = { app: name };
  const volumeMounts = claims ? { volumeMounts: [{ name: "data", mountPath: "/data" }] } : {};
  return {
    apiVersion: "apps/v1",
    kind: kind === "deployment" ? "Deployment" : "StatefulSet",
    metadata: { name, namespace: "default" },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      ...(kind === "statefulset" && { serviceName: name }),
      ...(claims && { volumeClaimTemplates: [claimOfData] }),
      ...spec,
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 10,
          containers: [{ name: "c", image: webImage(1), ...volumeMounts }],
        },
      },
    },
  };
}

const claimOfData = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
};

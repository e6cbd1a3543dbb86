import { join } from "node:path";
import { afterAll, beforeAll, expect, vi } from "vitest";
import type { Container, Deployment, Pod, StatefulSet } from "../../../src/api/meta/objects.ts";
import type { Client } from "../../../src/client/api/client.ts";
import { connectCluster } from "../../../src/client/api/create-client.ts";
import { orderFromDaemon } from "../../../src/runtime/control-server.ts";
import { writeBusyboxTree } from "../cri/cri-runtime.ts";
import type { Kubectl } from "../kubectl/kubectl.ts";
import { userPod } from "../manifests/pod.ts";
import { makeDeployment, makeStatefulSet } from "../manifests/workload.ts";
import { followObjects } from "../servers/follow-objects.ts";
import { describePod, type PodState, podState } from "./describe-pod.ts";
import { startUp, type UpProcess } from "./up-process.ts";

/** `kindling up` in a separate process, with real containers and the images `test.local/web:1` and `:2`. */
export interface RealCluster {
  readonly kubectl: Kubectl;
  readonly kubeconfig: string;
  apply(manifest: object): Promise<string>;
  /** `kill -9` of all but the containers, and another `up`. */
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
const script = `trap 'stopping=1' TERM
if [ -d /data ]; then exec >> /data/journal; fi
echo "+$VERSION"
while [ -z "$stopping" ]; do sleep 0.1; done
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
  const picture = async (app: string) => (await pods(app)).map(describePod).sort();

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
  const lines: string[] = [];
  const states = new Map<string | undefined, PodState>();
  const following = await followObjects({
    client,
    resource: "pods",
    selection: { namespace: "default", labelSelector: `app=${app}` },
    onList: (pods) => {
      for (const pod of pods) states.set(pod.metadata.name, podState(pod));
    },
    onEvent({ type, object: pod }) {
      const { name } = pod.metadata;
      if (type === "DELETED") {
        states.delete(name);
        lines.push(`-${name}`);
        return;
      }
      if (type === "ADDED") lines.push(`+${name}`);
      const state = podState(pod);
      if (state !== "waiting" && state !== states.get(name)) lines.push(`${name} ${state}`);
      states.set(name, state);
    },
    // Tests kill the server and read the events until then.
    mayEnd: true,
  });
  return {
    lines,
    until: (line) => expect.poll(() => lines, { timeout: 60_000, interval: 10 }).toContain(line),
    async stop() {
      await following.stop();
      client.close();
    },
  };
}

/** Fields of pods that run the web image, with a token and cluster DNS as pods of users have. */
const webPod = (container: Partial<Container> = {}) => ({
  ...userPod,
  terminationGracePeriodSeconds: 10,
  container: { image: webImage(1), ...container },
});

/** Returns a Deployment of pods that run the web image. */
export function webDeployment(name: string, { replicas }: { replicas: number }): Deployment {
  return makeDeployment(name, { replicas, pod: webPod() });
}

/** Returns a StatefulSet of pods that run the web image, with a volume at `/data` where `claims` is set. */
export function webStatefulSet(
  name: string,
  {
    replicas,
    claims = false,
    ...spec
  }: { replicas: number; claims?: boolean } & Partial<StatefulSet["spec"]>,
): StatefulSet {
  if (!claims) return makeStatefulSet(name, { replicas, spec, pod: webPod() });
  const volumeMounts = [{ name: "data", mountPath: "/data" }];
  return makeStatefulSet(name, {
    replicas,
    spec: { volumeClaimTemplates: [dataClaim], ...spec },
    pod: webPod({ volumeMounts }),
  });
}

const dataClaim = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
};

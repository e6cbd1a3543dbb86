import { afterEach, expect, test } from "vitest";
import type { Pod } from "../../src/api/objects.ts";
import { expired } from "../../src/api/status-error.ts";
import type { Client } from "../../src/client/client.ts";
import { loadKubeconfig } from "../../src/client/cluster-access.ts";
import { createClient } from "../../src/client/create-client.ts";
import { createHttpTransport } from "../../src/client/http-transport.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { createLogger, silentLogger } from "../../src/lib/logger.ts";
import { createClusterClock } from "../../src/monitor/foreign/cluster-clock.ts";
import type { StartSignal } from "../../src/monitor/measure/start-signal.ts";
import { createMonitor } from "../../src/monitor/monitor.ts";
import { createMemoryStore } from "../../src/store/local/memory-store.ts";
import { startTestServer, type TestServer } from "../support/api-server.ts";
import { ownPort } from "../support/own-share.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function connect(
  api: TestServer,
  clock = createClusterClock({ clock: systemClock, logger: silentLogger }),
) {
  const access = await loadKubeconfig(api.kubeconfig);
  const client = createClient({ transport: clock.listenTo(createHttpTransport({ access })) });
  closing.push(client.close);
  return client;
}

async function watch(
  client: Client,
  { clock = systemClock, log = [] as string[] }: { clock?: Clock; log?: string[] } = {},
) {
  const destination = { write: (line: string) => log.push(line) };
  const monitor = createMonitor({
    client,
    clock,
    logger: createLogger({ format: "json", level: "info", destination }),
    store: createMemoryStore(),
    options: { stuckAfterSeconds: 300, chosenLabels: [], chosenAnnotations: [] },
  });
  const told: StartSignal[] = [];
  monitor.onSignal((signal) => told.push(signal));
  const stopping = new AbortController();
  const running = monitor.run(stopping.signal);
  closing.push(() => {
    stopping.abort();
    return running;
  });
  await monitor.synced;
  return {
    monitor,
    of: (name: string) =>
      told
        .filter(({ start }) => start.pod.name === name)
        .map((signal) => (signal.kind === "unknown" ? `unknown ${signal.what}` : signal.kind)),
  };
}

const pods = "/api/v1/namespaces/default/pods";
const createPod = (api: TestServer, name: string) =>
  api.json("POST", pods, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      nodeName: "far",
      automountServiceAccountToken: false,
      containers: [{ name: "c", image: "web:1" }],
    },
  });

/** As a kubelet would, now. */
async function setReady(
  api: TestServer,
  name: string,
  types = ["PodScheduled", "PodReadyToStartContainers", "Initialized", "Ready"],
): Promise<void> {
  const object = await api.json<Pod>("GET", `${pods}/${name}`);
  const lastTransitionTime = `${new Date().toISOString().slice(0, 19)}Z`;
  const conditions = types.map((type) => ({ type, status: "True", lastTransitionTime }));
  await api.json("PUT", `${pods}/${name}/status`, { ...object, status: { phase: "Running", conditions } });
}

/** A client whose watches of pods can be made blind, and then told that the past is forgotten. */
function forgetful(client: Client) {
  let blind = new AbortController();
  let forget = () => {};
  let forgotten = new Promise<void>((resolve) => {
    forget = resolve;
  });
  const watchPods: Client["watch"] = async function* (resource, options) {
    if (resource !== "pods") return yield* client.watch(resource, options);
    const signal = AbortSignal.any([blind.signal, ...(options.signal ? [options.signal] : [])]);
    try {
      yield* client.watch(resource, { ...options, signal });
    } catch (error) {
      if (!blind.signal.aborted) throw error;
    }
    if (!blind.signal.aborted) return;
    await forgotten;
    throw expired("too old resource version");
  };
  return {
    client: { ...client, watch: watchPods },
    blind: () => blind.abort(new Error("blind")),
    expire() {
      blind = new AbortController();
      forget();
      forgotten = new Promise((resolve) => {
        forget = resolve;
      });
    },
  };
}

test("3085-12: a past that the server has forgotten (410): what was missed is unknown, what comes later is told", async () => {
  const api = await startTestServer();
  closing.push(api.close);
  const { client, blind, expire } = forgetful(await connect(api));
  const { of, monitor } = await watch(client);
  await createPod(api, "seen");
  await expect.poll(() => [...monitor.pods()].length).toBe(1);
  blind();
  await createPod(api, "born-unseen");
  await setReady(api, "seen");
  await setReady(api, "born-unseen");
  expire();
  for (const name of ["seen", "born-unseen"]) {
    await expect.poll(() => of(name)).toContain("unknown ready");
    expect(of(name)).not.toContain("ready");
    expect(of(name)).not.toContain("sandbox");
  }
  await createPod(api, "later");
  await setReady(api, "later");
  await expect.poll(() => of("later")).toContain("ready");
  expect(of("later")).toContain("sandbox");
});

test("3085-12: a server that is away and comes back: nothing is told twice, and what comes after is told", async () => {
  const dataDir = temporaryFolder();
  const store = { kind: "lmdb" } as const;
  // A port that nobody else takes while the server is away.
  const port = await ownPort();
  const before = await startTestServer({ dataDir, store, port });
  const { of, monitor } = await watch(await connect(before));
  await createPod(before, "early");
  await setReady(before, "early");
  await expect.poll(() => of("early")).toContain("ready");
  const told = of("early");
  await before.close();
  const after = await startTestServer({ dataDir, store, port });
  closing.push(after.close);
  await createPod(after, "first-after");
  await expect.poll(() => [...monitor.pods()].length, { timeout: 60_000 }).toBe(2);
  await createPod(after, "late");
  await setReady(after, "late");
  await expect.poll(() => of("late")).toContain("ready");
  expect(of("early")).toEqual(told);
});

test.each([
  ["ten minutes ahead", 600_000],
  ["ten minutes behind", -600_000],
])("3085-12: this machine's clock is %s: starts are told, and none is stuck for it", async (_, skewMs) => {
  const api = await startTestServer();
  closing.push(api.close);
  const wrong: Clock = { ...systemClock, now: () => systemClock.now() + skewMs };
  const clock = createClusterClock({ clock: wrong, logger: silentLogger });
  const client = await connect(api, clock);
  await client.request("GET", "/version");
  expect(Math.abs(clock.now() - systemClock.now())).toBeLessThan(60_000);
  const { of, monitor } = await watch(client, { clock });
  await createPod(api, "web");
  await expect.poll(() => [...monitor.starting()]).toMatchObject([{ stuck: false }]);
  await setReady(api, "web");
  await expect.poll(() => of("web")).toContain("ready");
  expect(of("web")).not.toContain("stuck");
});

test("3085-12: kubelets that never write the condition: the start is told, its sandbox is unknown, and the log says why, once", async () => {
  const api = await startTestServer();
  closing.push(api.close);
  const log: string[] = [];
  const { of } = await watch(await connect(api), { log });
  // PodHasNetwork is what 1.25 to 1.27 called it.
  const older = ["PodScheduled", "PodHasNetwork", "Initialized", "Ready"];
  for (const name of ["a", "b"]) {
    await createPod(api, name);
    await setReady(api, name, older);
    await expect.poll(() => of(name)).toContain("ready");
    expect(of(name)).toContain("unknown sandbox");
  }
  const lines = log.filter((line) => line.includes("without the condition PodReadyToStartContainers"));
  expect(lines).toHaveLength(1);
});

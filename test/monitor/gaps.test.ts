import { afterEach, expect, test } from "vitest";
import type { Pod } from "../../src/api/meta/objects.ts";
import { expired } from "../../src/api/meta/status-error.ts";
import type { Client } from "../../src/client/api/client.ts";
import { createClient } from "../../src/client/api/create-client.ts";
import { loadKubeconfig } from "../../src/client/kubeconfig/cluster-access.ts";
import { createHttpTransport } from "../../src/client/transport/http-transport.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { createLogger, silentLogger } from "../../src/lib/logger.ts";
import { createClusterClock } from "../../src/monitor/external-cluster/cluster-clock.ts";
import type { StartSignal } from "../../src/monitor/measure/start-signal.ts";
import { createMonitor } from "../../src/monitor/tracking/monitor.ts";
import { createMemoryStore } from "../../src/store/local/memory-store.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod } from "../support/manifests/pod.ts";
import { ownPort } from "../support/network/own-share.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function connect(
  api: TestServer,
  clock = createClusterClock({ clock: systemClock, logger: silentLogger }),
) {
  const access = await loadKubeconfig(api.kubeconfig);
  const client = createClient({ transport: clock.observe(createHttpTransport({ access })) });
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
  const signals: StartSignal[] = [];
  monitor.onSignal((signal) => signals.push(signal));
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
      signals
        .filter(({ start }) => start.pod.name === name)
        .map((signal) => (signal.kind === "unknown" ? `unknown ${signal.what}` : signal.kind)),
  };
}

const pods = "/api/v1/namespaces/default/pods";
const createPod = (api: TestServer, name: string) =>
  api.json("POST", pods, makePod(name, { nodeName: "far" }));

/** Writes the status as a kubelet does, with the current time. */
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

/** A client whose pod watches can be silenced, and then expired. */
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

test("3085-12: after an expired watch (410) missed starts are unknown and later ones are reported", async () => {
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

test("3085-16: a pod that became ready and was deleted in a gap is not an abandoned start", async () => {
  const api = await startTestServer();
  closing.push(api.close);
  const { client, blind, expire } = forgetful(await connect(api));
  const { of, monitor } = await watch(client);
  await createPod(api, "short");
  await expect.poll(() => [...monitor.pods()].length).toBe(1);
  blind();
  await setReady(api, "short");
  await api.json("DELETE", `${pods}/short?gracePeriodSeconds=0`);
  expire();
  await expect.poll(() => of("short")).toContain("unknown ready");
  expect(of("short")).not.toContain("abandoned");
});

test("3085-12: after an outage of the API server no start is reported twice and later ones are reported", async () => {
  const dataDir = temporaryFolder();
  const store = { kind: "lmdb" } as const;
  // A port that stays free while the server is stopped.
  const port = await ownPort();
  const before = await startTestServer({ dataDir, store, port });
  const { of, monitor } = await watch(await connect(before));
  await createPod(before, "early");
  await setReady(before, "early");
  await expect.poll(() => of("early")).toContain("ready");
  const reported = of("early");
  await before.close();
  const after = await startTestServer({ dataDir, store, port });
  closing.push(after.close);
  await createPod(after, "first-after");
  await expect.poll(() => [...monitor.pods()].length, { timeout: 60_000 }).toBe(2);
  await createPod(after, "late");
  await setReady(after, "late");
  await expect.poll(() => of("late")).toContain("ready");
  expect(of("early")).toEqual(reported);
});

test.each([
  ["ten minutes ahead", 600_000],
  ["ten minutes behind", -600_000],
])(
  "3085-12: this machine's clock is %s: starts are reported, and none counts as stuck because of it",
  async (_, skewMs) => {
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
  },
);

test("3085-12: kubelets that never write the condition: the start is reported, its sandbox is unknown, and the log says why, once", async () => {
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

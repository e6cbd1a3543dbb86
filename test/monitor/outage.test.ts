import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Pod } from "../../src/api/meta/objects.ts";
import { formatTime } from "../../src/api/meta/time.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod } from "../support/manifests/pod.ts";
import { useMonitorCommand } from "../support/monitor/monitor-command.ts";
import { ownPort } from "../support/network/own-share.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";
import { startTcpProxy, type TcpProxy } from "../support/servers/tcp-proxy.ts";
import { slowTest } from "../support/vitest/slow.ts";

const pods = "/api/v1/namespaces/default/pods";
const limitSeconds = 4;
/** Several times as long as a pod may be in one stage. */
const outageMs = 12_000;
const configuration = `
stuckAfterSeconds: ${limitSeconds}
objectives:
  - { name: sandboxes, kind: success, measure: first-sandbox, deadline: ${limitSeconds}s, target: 90% }
  - { name: starts, kind: success, measure: start, deadline: ${limitSeconds}s, target: 90% }
`;

let folder: string;
let api: TestServer;
let proxy: TcpProxy;

async function startServer(): Promise<void> {
  const port = api ? Number(new URL(api.url).port) : await ownPort();
  api = await startTestServer({ dataDir: `${folder}/cluster`, store: { kind: "lmdb" }, port });
}

beforeEach(async () => {
  folder = temporaryFolder();
  await startServer();
  proxy = await startTcpProxy(Number(new URL(api.url).port));
  const kubeconfig = await readFile(api.kubeconfig, "utf8");
  await writeFile(`${folder}/kubeconfig`, kubeconfig.replace(api.url, `https://127.0.0.1:${proxy.port}`));
});
afterEach(async () => {
  await proxy.close();
  await api.close();
});

const startMonitorCommand = useMonitorCommand();
const startMonitor = () => startMonitorCommand({ kubeconfig: `${folder}/kubeconfig`, folder, configuration });

/** A pod that another node has accepted and that has no sandbox yet. */
async function createPod(name: string): Promise<void> {
  await api.json("POST", pods, makePod(name, { nodeName: "far" }));
  await report(name, { sandbox: "False", ready: "False", atMs: Date.now() });
}

interface Reported {
  readonly sandbox: string;
  readonly ready: string;
  readonly atMs: number;
}

/** Status as the kubelet writes it, with the times of the node. */
async function report(name: string, { sandbox, ready, atMs }: Reported): Promise<void> {
  const object = await api.json<Pod>("GET", `${pods}/${name}`);
  const lastTransitionTime = formatTime(atMs);
  const condition = (type: string, status: string, time = lastTransitionTime) => ({
    type,
    status,
    lastTransitionTime: time,
  });
  const createdAt = String(object.metadata.creationTimestamp);
  const conditions = [
    condition("PodScheduled", "True", createdAt),
    condition("PodReadyToStartContainers", sandbox),
    condition("Initialized", "True", createdAt),
    condition("Ready", ready),
  ];
  const startTime = object.status?.startTime ?? lastTransitionTime;
  const containerStatuses = [
    {
      name: "c",
      image: "web:1",
      imageID: "",
      restartCount: 0,
      ready: ready === "True",
      state: ready === "True" ? { running: { startedAt: lastTransitionTime } } : { waiting: {} },
    },
  ];
  const status = { phase: "Pending", startTime, conditions, containerStatuses };
  await api.json("PUT", `${pods}/${name}/status`, { ...object, status });
}

const nothing = { stuck: 0, abandoned: 0, bad: 0 };
const scheduled = ["kindling_pod_start_stage_seconds_count", 'stage="scheduling"'] as const;
const sandboxes = ["kindling_pod_first_sandbox_seconds_count"] as const;

test("3085-16: the API server is stopped: pods that became ready meanwhile are neither stuck nor failed, and their own times count", async () => {
  const { count, verdicts } = await startMonitor();
  await createPod("web");
  await expect.poll(() => count(...scheduled)).toBe(1);
  const readyMs = Date.now() + 1_000;
  await api.close();
  await delay(outageMs);
  expect(await verdicts()).toEqual(nothing);
  await startServer();
  // A kubelet that has not received it yet.
  await delay(2_000);
  await report("web", { sandbox: "True", ready: "True", atMs: readyMs });
  await expect.poll(() => count(...sandboxes)).toBe(1);
  expect(await verdicts()).toEqual(nothing);
  expect(await count("kindling_pod_start_seconds_sum")).toBeLessThan(outageMs / 1_000);
});

slowTest(
  "3085-16: the monitor's connections break, are silent, or the monitor is suspended: nothing is counted for it",
  async () => {
    const { run, count, verdicts } = await startMonitor();
    const ways = [
      { name: "broken", begin: proxy.refuse, end: proxy.accept },
      { name: "silent", begin: proxy.freeze, end: proxy.thaw },
      { name: "suspended", begin: () => run.child.kill("SIGSTOP"), end: () => run.child.kill("SIGCONT") },
    ];
    for (const [i, { name, begin, end }] of ways.entries()) {
      await createPod(name);
      await expect.poll(() => count(...scheduled)).toBe(i + 1);
      await begin();
      await delay(1_500);
      await report(name, { sandbox: "True", ready: "True", atMs: Date.now() });
      await delay(outageMs);
      await end();
      await expect.poll(() => count(...sandboxes)).toBe(i + 1);
      expect([name, await verdicts()]).toEqual([name, nothing]);
    }
  },
);

slowTest(
  "3085-16: monitor and API server come back together: what kubelets report late does not count, what stays stuck does",
  async () => {
    const first = await startMonitor();
    await createPod("late");
    await createPod("never");
    await expect.poll(() => first.count(...scheduled)).toBe(2);
    const readyMs = Date.now() + 1_000;
    first.run.child.kill("SIGTERM");
    await first.run.exit;
    await api.close();
    await delay(outageMs);
    await startServer();
    const second = await startMonitor();
    await delay(2 * limitSeconds * 1_000);
    expect(await second.verdicts()).toEqual(nothing);
    await report("late", { sandbox: "True", ready: "True", atMs: readyMs });
    await expect.poll(() => second.verdicts()).toEqual({ stuck: 1, abandoned: 0, bad: 2 });
  },
);

import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Pod } from "../../src/api/meta/objects.ts";
import { formatTime } from "../../src/api/meta/time.ts";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod } from "../support/manifests/pod.ts";
import { type KindlingRun, runKindling } from "../support/programs/run-kindling.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

const folder = temporaryFolder();
let server: TestServer;
let client: Client;
const runs: KindlingRun[] = [];

beforeAll(async () => {
  server = await startTestServer();
  client = await connectCluster({ kubeconfig: server.kubeconfig });
});
afterAll(async () => {
  for (const { child } of runs) child.kill("SIGKILL");
  client?.close();
  await server?.close();
});

/** `kindling monitor` in a separate process; resolves once it has observed all pods. */
async function startMonitor() {
  const args = ["--kubeconfig", server.kubeconfig, "--data-dir", `${folder}/data`, "--listen", "127.0.0.1:0"];
  const run = await runKindling(["monitor", ...args]);
  runs.push(run);
  await expect.poll(() => run.output.stdout).toMatch(/metrics: http:\S+\n/);
  await expect.poll(() => run.output.stderr).toContain("watching how pods start");
  const url = /metrics: (\S+)/.exec(run.output.stdout)?.[1] ?? "";
  /** The sum over all classes; 0 where there is none. */
  const count = async (name: string) => {
    const text = await (await fetch(url)).text();
    const values = text
      .split("\n")
      .flatMap((line) => (line.startsWith(`${name}{`) ? Number(line.split(" ").at(-1)) : []));
    return values.reduce((sum, value) => sum + value, 0);
  };
  return { run, count };
}

async function setSandbox(status: "True" | "False", agoSeconds: number): Promise<void> {
  const pod = await client.get("pods", { namespace: "default", name: "web" });
  const time = (seconds: number) => formatTime(Date.now() - seconds * 1_000);
  const conditions = [
    { type: "PodScheduled", status: "True", lastTransitionTime: pod.metadata.creationTimestamp },
    { type: "PodReadyToStartContainers", status, lastTransitionTime: time(agoSeconds) },
  ];
  await client.update("pods", { ...pod, status: { conditions, startTime: time(0) } } as Pod, {
    subresource: "status",
  });
}

test("3085-12: the command, killed and restarted, counts no sandbox twice and no recreated sandbox as the first", async () => {
  await client.create("pods", makePod("web", { nodeName: "far-away" }));
  const first = await startMonitor();
  await setSandbox("True", 0);
  await expect.poll(() => first.count("kindling_pod_first_sandbox_seconds_count")).toBe(1);
  first.run.child.kill("SIGKILL");
  await first.run.exit;

  const second = await startMonitor();
  await setSandbox("False", 0);
  await setSandbox("True", -1);
  await expect.poll(() => second.count("kindling_pod_sandbox_recreation_seconds_count")).toBe(1);
  expect(await second.count("kindling_pod_first_sandbox_seconds_count")).toBe(0);
  second.run.child.kill("SIGTERM");
  expect(await second.run.exit).toBe(0);
});

test("configuration errors name the field", async () => {
  const config = `${folder}/monitor.yaml`;
  await writeFile(config, "stuckAfterSeconds: soon\nchosenLabel: [team]\n");
  const { exit, output } = await runKindling([
    "monitor",
    "--kubeconfig",
    server.kubeconfig,
    "--config",
    config,
  ]);
  expect(await exit).toBe(2);
  expect(output.stderr).toContain("chosenLabel: Forbidden: unknown field");
  expect(output.stderr).toContain('stuckAfterSeconds: Invalid value: "soon"');
});

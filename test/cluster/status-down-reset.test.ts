import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parse } from "yaml";
import { isReady } from "../../src/api/meta/object-facts.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { startUp, type UpProcess } from "../support/cluster/up-process.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { kindling, runKindling } from "../support/programs/run-kindling.ts";

// One cluster without containers, from its first start until its removal: each test continues from the previous one.
const folder = temporaryFolder();
const dataDir = join(folder, "data");
const merged = join(folder, "config");
const where = ["--data-dir", dataDir];
let up: UpProcess | undefined;
afterAll(() => up?.kill("SIGKILL"));

test("without a cluster, status, down and reset report it", async () => {
  expect(await kindling("status", ...where)).toMatchObject({ code: 1 });
  expect(JSON.parse((await kindling("status", "-o", "json", ...where)).stdout)).toMatchObject({
    dataDir,
    state: "missing",
    diskBytes: 0,
  });
  expect(await kindling("down", ...where)).toMatchObject({
    code: 0,
    stdout: `There is no cluster in ${dataDir}.\n`,
  });
  expect(await kindling("reset", "--yes", ...where)).toMatchObject({
    code: 0,
    stdout: `There is nothing in ${dataDir}.\n`,
  });
});

test("status of one that runs, as text and as JSON", async () => {
  const config = join(folder, "up.yaml");
  await writeFile(
    config,
    `runtime: simulated
nodes: 2
# Beside this file.
mergeKubeconfig: config
kubeletConfig: { nodeLabels: { disk: fast } }
`,
  );
  up = await startUp([...where, "--config", config]);
  const client = await connectCluster({ kubeconfig: up.kubeconfig });
  // Registered they are, and ready soon.
  const labelled = async () => (await client.list("nodes", { labelSelector: "disk=fast" })).items;
  await expect.poll(async () => (await labelled()).map(isReady)).toEqual([true, true]);
  // What every cluster has from the start.
  const account = await client.get("serviceaccounts", { namespace: "default", name: "default" });
  expect(account.metadata.name).toBe("default");
  // This one a controller makes.
  const isDefault = "storageclass.kubernetes.io/is-default-class";
  await expect
    .poll(async () =>
      (await client.list("storageclasses")).items.map(({ metadata }) => metadata.annotations?.[isDefault]),
    )
    .toEqual(["true"]);
  client.close();
  const { code, stdout } = await kindling("status", ...where);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^● The cluster is running \(pid \d+, for \w+\)\n/);
  expect(stdout).toMatch(/nodes +2 of 2 ready\n +node-1 Ready\n +node-2 Ready\n +pods +none\n/);
  expect(stdout).toMatch(/dashboard +http:\/\/127\.0\.0\.1:\d+\n/);
  // A pipe gets no colours.
  expect(stdout).not.toContain("\x1b");
  const json = JSON.parse((await kindling("status", "-o", "json", ...where)).stdout);
  expect(json).toMatchObject({
    state: "running",
    url: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/),
    kubeconfig: join(dataDir, "kubeconfig"),
    dashboard: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    store: "lmdb",
    runtime: "simulated",
    nodes: [
      { name: "node-1", ready: true },
      { name: "node-2", ready: true },
    ],
    pods: { total: 0, byPhase: {}, starting: 0 },
  });
  expect(json.diskBytes).toBeGreaterThan(10_000);
  expect(parse(await readFile(merged, "utf8"))["current-context"]).toBe("kindling");
});

test("on a terminal status has colours, unless NO_COLOR is set", async () => {
  const run = await runKindling(["status", ...where], { terminal: true });
  expect(await run.exit).toBe(0);
  expect(run.output.stdout).toContain("\x1b[32m●\x1b[0m");
  const plain = await runKindling(["status", ...where], { terminal: true, env: { NO_COLOR: "1" } });
  expect(await plain.exit).toBe(0);
  expect(plain.output.stdout).not.toContain("\x1b");
});

test("a second one on the same data names the first", async () => {
  const second = await kindling("up", ...where, "--runtime", "simulated", "--listen", "127.0.0.1:0");
  expect(second.code).toBe(1);
  expect(second.stderr).toMatch(
    /kindling: a cluster runs in \S+ already \(pid \d+\): stop it with kindling down --data-dir \S+, or choose another --data-dir\n$/,
  );
});

test("down stops it, and is idempotent", async () => {
  const { code, stdout } = await kindling("down", ...where);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^Stopped the cluster in \S+ \(pid \d+\)\.\n$/),
  });
  expect(await up?.exit).toBe(0);
  expect(await kindling("down", ...where)).toMatchObject({
    code: 0,
    stdout: `The cluster in ${dataDir} is not running.\n`,
  });
  const json = JSON.parse((await kindling("status", "-o", "json", ...where)).stdout);
  expect(json).toMatchObject({ state: "stopped", containers: [] });
  expect(json).not.toHaveProperty("pid");
});

test("a pid that another process reuses is not signalled", async () => {
  const path = join(dataDir, "up.json");
  const record = JSON.parse(await readFile(path, "utf8"));
  // This very process, under a start time that is not its own: had it got the signal, the tests would end here.
  const recycled = { ...record, process: { ...record.process, pid: process.pid } };
  await writeFile(path, JSON.stringify(recycled));
  expect(await kindling("down", ...where)).toMatchObject({
    code: 0,
    stdout: `The cluster in ${dataDir} is not running.\n`,
  });
  await writeFile(path, "{ half a rec");
  expect(await kindling("down", ...where)).toMatchObject({ code: 0 });
  await writeFile(path, JSON.stringify(record));
});

test("reset asks for confirmation, and requires --yes without a terminal", async () => {
  expect(await kindling("reset", ...where)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("add --yes"),
  });
  expect(existsSync(join(dataDir, "store"))).toBe(true);
});

test.each(["n\n", "\n", "\x04", "\x03"])("on a terminal, %j means no", async (answer) => {
  const run = await runKindling(["reset", ...where], { terminal: true, stdin: "pipe" });
  await expect.poll(() => run.output.stdout).toContain("[y/N]");
  run.child.stdin?.write(answer);
  expect(await run.exit).toBe(1);
  expect(run.output.stdout).toContain(
    `This removes the cluster in ${dataDir} with all its data. Continue? [y/N]`,
  );
  expect(run.output.stdout).toContain("kindling: nothing was changed");
  expect(existsSync(join(dataDir, "store"))).toBe(true);
});

test("reset keeps files that are not the cluster's, and removes its entry from the other kubeconfig", async () => {
  await writeFile(join(dataDir, "notes.txt"), "mine");
  expect(await kindling("reset", "--yes", ...where)).toMatchObject({
    code: 0,
    stdout: `Removed the cluster in ${dataDir}; other files are kept: notes.txt.\n`,
  });
  expect(await readdir(dataDir)).toEqual(["notes.txt"]);
  expect(parse(await readFile(merged, "utf8"))).toMatchObject({ clusters: [], contexts: [], users: [] });
});

test("a directory of another program is rejected", async () => {
  expect(await kindling("reset", "--yes", ...where)).toMatchObject({
    code: 2,
    stderr: `kindling: ${dataDir} is not the data directory of a cluster: nothing was changed\n`,
  });
  const file = join(folder, "file");
  await writeFile(file, "x");
  expect(await kindling("reset", "--yes", "--data-dir", file)).toMatchObject({ code: 2 });
  const empty = join(folder, "empty");
  await mkdir(empty);
  expect(await kindling("reset", "--yes", "--data-dir", empty)).toMatchObject({ code: 0 });
});

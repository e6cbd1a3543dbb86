import { chmod, mkdir, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { startUp } from "../support/cluster/up-process.ts";
import { type HeldCri, startHeldCri } from "../support/cri/held-cri.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { type KindlingRun, kindling, runKindling } from "../support/programs/run-kindling.ts";

const folder = temporaryFolder();
const closers: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closers) await close();
});

/** In separate directories, so that anything it leaves is found. */
async function start(command: "up" | "apiserver" | "runtime" | "kubelet", ...args: string[]) {
  const place = await mkdtemp(join(folder, "start-"));
  const temporary = join(place, "tmp");
  await mkdir(temporary);
  const run = await runKindling([command, "--log-level", "error", ...args], { env: { TMPDIR: temporary } });
  closers.push(() => run.child.kill("SIGKILL"));
  return { ...run, temporary };
}

async function ended({ exit, output }: Pick<KindlingRun, "exit" | "output">) {
  return { code: await exit, ...output };
}

const quietly = { code: 0, stdout: "", stderr: "" };

async function socketsIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isSocket()).map(({ name }) => name);
}

/** An etcd that accepts connections and does not respond. */
async function startSilentEtcd(): Promise<{ url: string; isAsked(): boolean }> {
  let asked = false;
  const server = createServer((socket) => {
    asked = true;
    closers.push(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => server.close());
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return { url: `http://127.0.0.1:${port}`, isAsked: () => asked };
}

let sockets = 0;
async function startCri(
  ...hold: Parameters<typeof startHeldCri>[1]
): Promise<HeldCri & { endpoint: string }> {
  sockets++;
  const endpoint = `unix://${join(folder, `${sockets}.sock`)}`;
  const cri = await startHeldCri(endpoint, hold);
  closers.push(cri.close);
  return { ...cri, endpoint };
}

describe("a signal while it starts stops it, as one later does", () => {
  test.each([
    ["up", "SIGTERM"],
    ["apiserver", "SIGINT"],
  ] as const)("%s, while the store does not answer (%s)", async (command, signal) => {
    const etcd = await startSilentEtcd();
    const dataDir = join(folder, `store-${command}`);
    const run = await start(
      command,
      ...["--data-dir", dataDir, "--listen", "127.0.0.1:0", "--store", "etcd", "--etcd-endpoints", etcd.url],
      ...(command === "up" ? ["--runtime", "simulated"] : []),
    );
    await expect.poll(etcd.isAsked).toBe(true);
    run.child.kill(signal);
    expect(await ended(run)).toEqual(quietly);
  });

  test.each([
    ["version", "SIGTERM"],
    ["runtimeConfig", "SIGINT"],
    ["listContainers", "SIGTERM"],
  ] as const)("while the runtime does not answer %s (%s)", async (call, signal) => {
    const cri = await startCri(call);
    const dataDir = join(folder, `runtime-${call}`);
    const where = ["--data-dir", dataDir, "--dashboard", "off"];
    const run = await start("up", ...where, "--listen", "127.0.0.1:0", "--runtime", cri.endpoint);
    await expect.poll(() => cri.held).toContain(call);
    run.child.kill(signal);
    expect(await ended(run)).toEqual(quietly);
    expect(JSON.parse((await kindling("status", "-o", "json", "--data-dir", dataDir)).stdout)).toMatchObject({
      state: "stopped",
    });
    const again = await startUp([...where, "--runtime", "simulated"]);
    expect(await again.kill("SIGTERM")).toBe(0);
  });

  test("an ephemeral cluster removes its directory", async () => {
    const cri = await startCri("runtimeConfig");
    const run = await start("up", "--ephemeral", "--listen", "127.0.0.1:0", "--runtime", cri.endpoint);
    await expect.poll(() => cri.held).toContain("runtimeConfig");
    expect(await readdir(run.temporary)).toHaveLength(1);
    run.child.kill("SIGTERM");
    expect(await ended(run)).toEqual(quietly);
    expect(await readdir(run.temporary)).toEqual([]);
  });

  test("a second signal ends it at once", async () => {
    const cri = await startCri("runtimeConfig", "listPodSandbox");
    const run = await start("up", "--ephemeral", "--listen", "127.0.0.1:0", "--runtime", cri.endpoint);
    await expect.poll(() => cri.held).toContain("runtimeConfig");
    run.child.kill("SIGTERM");
    // Its pods are to end, if there are any.
    await expect.poll(() => cri.held).toContain("listPodSandbox");
    expect(run.child.exitCode).toBe(null);
    run.child.kill("SIGTERM");
    expect(await ended(run)).toEqual({ ...quietly, code: 1 });
  });
});

describe.skipIf(process.getuid?.() !== 0)("while runc is tried out [needs root]", () => {
  test.each(["up", "runtime"] as const)("%s leaves neither runc nor a socket", async (command) => {
    const place = join(folder, `runc-${command}`);
    const dataDir = join(place, "data");
    await mkdir(place);
    const runc = join(place, "runc");
    await writeFile(runc, `#!/bin/sh\necho $$ >${place}/pid\nexec sleep 1000\n`);
    await chmod(runc, 0o755);
    const socket = join(place, "cri.sock");
    const args = command === "up" ? ["--listen", "127.0.0.1:0"] : ["--listen", `unix://${socket}`];
    const run = await runKindling([command, "--data-dir", dataDir, "--log-level", "error", ...args], {
      env: { PATH: `${place}:${process.env.PATH}` },
    });
    closers.push(() => run.child.kill("SIGKILL"));
    const pidOf = () => readFile(join(place, "pid"), "utf8").catch(() => "");
    await expect.poll(pidOf).toMatch(/^\d+\n$/);
    run.child.kill("SIGTERM");
    expect(await ended(run)).toEqual(quietly);
    // Gone, or a zombie that its parent has not reaped.
    const commandLine = `/proc/${(await pidOf()).trim()}/cmdline`;
    await expect.poll(() => readFile(commandLine, "utf8").catch(() => "")).toBe("");
    expect(await socketsIn(place)).toEqual([]);
  });
});

test("kindling kubelet too, while its runtime does not answer", async () => {
  const cri = await startCri("version");
  const kubeconfig = join(folder, "node.kubeconfig");
  const cluster = { server: "https://127.0.0.1:1" };
  await writeFile(
    kubeconfig,
    JSON.stringify({
      "current-context": "x",
      contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
      clusters: [{ name: "x", cluster }],
      users: [{ name: "x", user: { token: "x" } }],
    }),
  );
  const dataDir = join(folder, "kubelet");
  const where = ["--kubeconfig", kubeconfig, "--data-dir", dataDir];
  const run = await start("kubelet", ...where, "--runtime-endpoint", cri.endpoint);
  await expect.poll(() => cri.held).toContain("version");
  run.child.kill("SIGTERM");
  expect(await ended(run)).toEqual(quietly);
});

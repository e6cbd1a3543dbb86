import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { startUp, type UpProcess } from "../support/cluster/up-process.ts";
import { buildBusybox } from "../support/cri/cri-runtime.ts";
import { findTraces, networkNotes, ownBridges } from "../support/cri/machine-traces.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod, userPod } from "../support/manifests/pod.ts";
import { shell } from "../support/node/runtime-node.ts";
import { kindling } from "../support/programs/run-kindling.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const web = JSON.stringify(
  makePod("web", {
    ...userPod,
    container: {
      ...shell("sleep 1000"),
      imagePullPolicy: "IfNotPresent",
      volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
    },
    volumes: [{ name: "scratch", emptyDir: { medium: "Memory" } }],
  }),
);

describeWithTool("busybox", "with real containers", () => {
  const folder = temporaryFolder();

  async function startWithPod(args: readonly string[]): Promise<UpProcess & { dataDir: string }> {
    const up = await startUp(args);
    const dataDir = join(up.kubeconfig, "..");
    await buildBusybox({
      dataDir: join(dataDir, "nodes/node-1/runtime"),
      directory: await mkdtemp(join(folder, "image-")),
    });
    await up.kubectl.ok("apply -f -", { input: web });
    await up.kubectl.ok("wait --for=condition=Ready pod/web --timeout=60s");
    // The tests' own: kubectl of a person caches elsewhere.
    await rm(`${up.kubeconfig}-cache-kubectl`, { recursive: true });
    return { ...up, dataDir };
  }

  /** Everything on this machine that belongs to the cluster, according to its runtime. */
  async function machineOf(dataDir: string) {
    const runtimeDir = join(dataDir, "nodes/node-1/runtime");
    const { podIds } = await networkNotes(runtimeDir);
    const containers = await readdir(join(runtimeDir, "containers"));
    const pods = await readdir(join(dataDir, "nodes/node-1/kubelet/pods"));
    const ids = [...podIds, ...containers.map((name) => name.replace(".json", "")), ...pods];
    const bridges = await ownBridges(runtimeDir);
    return () => findTraces({ dataDir, ids, bridges });
  }

  const nothing = { mounts: [], processes: [], cgroups: [], interfaces: [] };

  describeWithTool("kubectl", "containers", () => {
    test("keep running after up stops; down --containers stops them, reset removes everything", async () => {
      const dataDir = join(folder, "data");
      const where = ["--data-dir", dataDir];
      const up = await startWithPod(where);
      const traces = await machineOf(dataDir);
      const before = await traces();
      expect(before.mounts.length).toBeGreaterThan(2);
      expect(before.cgroups.length).toBeGreaterThan(0);
      await up.kill("SIGKILL");

      const left = JSON.parse((await kindling("status", "-o", "json", ...where)).stdout);
      expect(left).toMatchObject({
        state: "stopped",
        containers: [{ name: "default/web/c", node: "node-1" }],
      });
      const { stdout } = await kindling("status", ...where);
      expect(stdout).toMatch(
        /1 container is still running, although the cluster is stopped:\n {2}default\/web\/c \(pid \d+\)\n/,
      );
      expect(await kindling("down", ...where)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("1 container keeps running; to stop it: kindling down --containers"),
      });
      expect(await kindling("down", "--containers", ...where)).toMatchObject({
        code: 0,
        stdout: `The cluster in ${dataDir} is not running.\nStopped 1 pod.\n`,
      });
      expect(await traces()).toMatchObject({ processes: [], cgroups: [], interfaces: [] });
      // Volumes are the kubelet's, and the pod is still wanted.
      for (const mount of (await traces()).mounts) expect(mount).toContain("/kubelet/pods/");
      expect(await kindling("reset", "--yes", ...where)).toMatchObject({ code: 0 });
      expect(await traces()).toEqual(nothing);
      expect(existsSync(dataDir)).toBe(false);
    });

    test("are stopped by reset while up runs", async () => {
      const dataDir = join(folder, "running");
      const up = await startWithPod(["--data-dir", dataDir]);
      const traces = await machineOf(dataDir);
      expect(await kindling("reset", "--yes", "--data-dir", dataDir)).toMatchObject({
        code: 0,
        stdout: `Stopped 1 pod and removed ${dataDir}.\n`,
      });
      expect(await up.exit).toBe(0);
      expect(await traces()).toEqual(nothing);
      expect(existsSync(dataDir)).toBe(false);
    });

    test("stop with up --ephemeral, and nothing is left", async () => {
      const merged = join(folder, "ephemeral-config");
      const up = await startWithPod(["--ephemeral", "--merge-kubeconfig", merged]);
      expect(up.output.stdout).toContain("Ctrl-C stops the cluster and removes its containers and data.");
      expect(existsSync(join(up.dataDir, "store"))).toBe(false);
      const traces = await machineOf(up.dataDir);
      expect((await traces()).processes.length).toBeGreaterThan(0);
      expect(await up.kill("SIGTERM")).toBe(0);
      expect(await traces()).toEqual(nothing);
      expect(existsSync(up.dataDir)).toBe(false);
      expect(parse(await readFile(merged, "utf8"))).toMatchObject({ clusters: [], contexts: [] });
    });
  });
});

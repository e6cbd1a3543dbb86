import { readdirSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Pod } from "../../../src/api/meta/objects.ts";
import { type Containerd, startContainerd } from "../../support/cri/containerd.ts";
import { describeEachDriver } from "../../support/cri/cri-drivers.ts";
import { busyboxImage, writeBusyboxTree } from "../../support/cri/cri-runtime.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { type KubeletNode, startKubeletNode } from "../../support/node/kubelet-node.ts";
import { shell, untilTold, useRuntimeNode } from "../../support/node/runtime-node.ts";
import { isReady } from "../../support/node/simulated-node.ts";
import { describeWithTool, type ToolName, toolPath } from "../../support/programs/tools.ts";
import { writeImageArchive } from "../../support/registry/image-archive.ts";

interface Parts {
  readonly node: KubeletNode;
}

const directory = temporaryFolder();

describeWithTool("busybox", "commands as probes", () =>
  describeEachDriver((driver) => commands(useRuntimeNode({ driver }))),
);
for (const tool of ["containerd", "containerd-2"] as const) {
  describeWithTool(tool, `commands as probes over ${tool}`, () => commands(useContainerd(tool)));
}

function useContainerd(tool: ToolName): Parts {
  const parts: { node?: KubeletNode; containerd?: Containerd } = {};
  beforeAll(async () => {
    const root = join(directory, tool, "busybox");
    await writeBusyboxTree(root);
    const archive = writeImageArchive({ root, tag: busyboxImage, command: ["sh"] });
    const folder = join(directory, tool, "c");
    parts.containerd = await startContainerd({ program: toolPath(tool), folder, archives: [archive] });
    parts.node = await startKubeletNode({ cri: parts.containerd.client });
  });
  afterAll(async () => {
    await parts.node?.close();
    await parts.containerd?.stop();
  });
  return parts as Parts;
}

const statusOf = (pod: Pod) => pod.status?.containerStatuses?.[0];
const isRunning = (pod: Pod) => statusOf(pod)?.state?.running !== undefined;

function commands(parts: Parts): void {
  test("a command that exceeds its timeout fails and is killed", async () => {
    const { node } = parts;
    // Other tests on the machine have sleepers too.
    const seconds = 1_000_000 + process.pid;
    const command = ["sleep", String(seconds)];
    const startupProbe = { exec: { command }, periodSeconds: 1, timeoutSeconds: 1, failureThreshold: 2 };
    await node.run("late", { containers: [shell(untilTold, { startupProbe })], restartPolicy: "Never" });
    const { message } = await node.untilEvent("late", /^Startup probe failed/);
    expect(message).toBe(`Startup probe failed: command timed out: "sleep ${seconds}" timed out after 1s`);
    await node.untilEvent("late", /^Container c failed startup probe$/);
    await expect.poll(() => processesWith(command)).toEqual([]);
    await node.until("late", (pod) => pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded");
  });

  test("950-6 a kubelet restart during startup neither marks the container started nor restarts its budget", async () => {
    const { node } = parts;
    const exec = { command: ["sh", "-c", "echo >> /v/asked; test -e /v/up"] };
    const startupProbe = { exec, periodSeconds: 1, timeoutSeconds: 30, failureThreshold: 600 };
    const { metadata } = await node.run("midway", {
      containers: [shell(untilTold, { startupProbe, volumeMounts: [{ name: "v", mountPath: "/v" }] })],
      volumes: [{ name: "v", emptyDir: {} }],
    });
    const volume = join(node.dataDir, "pods", metadata.uid ?? "", "volumes/kubernetes.io~empty-dir/v");
    const asked = () =>
      readFile(join(volume, "asked"), "utf8").then(
        ({ length }) => length,
        () => 0,
      );
    await expect.poll(asked).toBeGreaterThan(0);
    const before = await node.until("midway", isRunning);
    const history = await node.follow("midway");
    node.kill();
    const askedBefore = await asked();
    await node.start();
    // One may have been under way when the kubelet was killed.
    await expect.poll(asked).toBeGreaterThan(askedBefore + 1);
    expect(statusOf(await node.until("midway", isRunning))).toMatchObject({ started: false, ready: false });
    expect(history.versions.filter((pod) => statusOf(pod)?.started || isReady(pod))).toEqual([]);
    await history.stop();
    await writeFile(join(volume, "up"), "");
    const { containerID } = statusOf(before) ?? {};
    expect(statusOf(await node.until("midway", isReady))).toMatchObject({ restartCount: 0, containerID });
  });
}

/** Processes of the machine that run this command. */
function processesWith(command: readonly string[]): string[] {
  const wanted = `${command.join("\0")}\0`;
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8") === wanted;
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
}

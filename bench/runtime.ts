// Compares the start time and memory of pods from a present image, over CRI, with containerd if it is installed. Requires root,
// runc, conmon, busybox-static and `npm run build`.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ContainerConfig, NamespaceMode, PodSandboxConfig } from "../src/cri/generated/cri.ts";
import { hasTool } from "../test/support/programs/tools.ts";
import { type CriContestant, startContainerd, startKindling } from "./support/cri-contestant.ts";
import { sleeperImage, writeSleeperArchive } from "./support/image-archive.ts";
import { median } from "./support/median.ts";
import { printTable } from "./support/print-table.ts";
import { runtimeMemory } from "./support/process-memory.ts";

const rounds = 20;
const pods = 10;
const folder = mkdtempSync(join(tmpdir(), "kindling-bench-runtime-"));
const archives = [writeSleeperArchive(folder)];
const own = { pid: NamespaceMode.CONTAINER };
let count = 0;

const contestants: Record<string, CriContestant> = {
  "kindling, CNI": await startKindling(join(folder, "kindling-cni"), archives, { network: "cni" }),
  "kindling, own bridge": await startKindling(join(folder, "kindling-bridge"), archives, {
    network: "bridge",
  }),
  ...(hasTool("containerd") && {
    containerd: await startContainerd(join(folder, "containerd"), archives),
  }),
};

try {
  const samples = new Map(Object.keys(contestants).map((name) => [name, [] as PodTimes[]]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, { client }] of Object.entries(contestants)) {
      const { times, remove } = await startPod(client);
      // The first round creates what is created once: bridges, page cache.
      if (round > 0) samples.get(name)?.push(times);
      await remove();
    }
  }
  const memory = new Map<string, number>();
  for (const [name, { client, folder: text }] of Object.entries(contestants)) {
    const before = runtimeMemory(text, "/bin/busybox");
    for (let i = 0; i < pods; i++) await startPod(client);
    await delay(1_000);
    memory.set(name, (runtimeMemory(text, "/bin/busybox") - before) / pods / 2 ** 20);
  }
  printTable(
    ["median of 19", "sandbox", "create", "start", "together", "memory per pod"],
    [...samples].map(([name, times]) => [
      name,
      ...(["sandboxMs", "createMs", "startMs", "totalMs"] as const).map(
        (key) => `${median(times.map((time) => time[key])).toFixed(0)} ms`,
      ),
      `${memory.get(name)?.toFixed(1)} MiB`,
    ]),
  );
} finally {
  for (const contestant of Object.values(contestants)) await contestant.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

interface PodTimes {
  readonly sandboxMs: number;
  readonly createMs: number;
  readonly startMs: number;
  readonly totalMs: number;
}

async function startPod({
  runtime,
}: CriContestant["client"]): Promise<{ times: PodTimes; remove(): Promise<void> }> {
  const name = `pod-${++count}`;
  const config = PodSandboxConfig.fromPartial({
    metadata: { name, namespace: "bench", uid: name, attempt: 0 },
    hostname: name,
    linux: { securityContext: { namespaceOptions: own } },
  });
  const container = ContainerConfig.fromPartial({
    metadata: { name: "main", attempt: 0 },
    image: { image: sleeperImage },
    args: ["sleep", "100000"],
    linux: { securityContext: { namespaceOptions: own } },
  });
  const began = performance.now();
  const { podSandboxId } = await runtime.runPodSandbox({ config, runtimeHandler: "" });
  const made = performance.now();
  const request = { podSandboxId, config: container, sandboxConfig: config };
  const { containerId } = await runtime.createContainer(request);
  const created = performance.now();
  await runtime.startContainer({ containerId });
  const started = performance.now();
  return {
    times: {
      sandboxMs: made - began,
      createMs: created - made,
      startMs: started - created,
      totalMs: started - began,
    },
    async remove() {
      await runtime.stopPodSandbox({ podSandboxId });
      await runtime.removePodSandbox({ podSandboxId });
    },
  };
}

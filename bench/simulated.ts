// Measures the cost of pods in the simulated runtime, created as a kubelet creates them: npm run bench -- simulated [--pods 10000]
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type CriClient, connectCri } from "../src/cri/cri-client.ts";
import {
  CreateContainerRequest,
  ImageSpec,
  PodSandboxConfig,
  PullImageRequest,
  RunPodSandboxRequest,
} from "../src/cri/generated/cri.ts";
import { silentLogger } from "../src/lib/logger.ts";
import { startSimulatedRuntime } from "../src/simulated/start-simulated-runtime.ts";
import { formatNumber } from "./support/comparison.ts";
import { printTable } from "./support/print-table.ts";

const { values: args } = parseArgs({ options: { pods: { type: "string", default: "10000" } } });
const pods = Number(args.pods);
/** Number of pods that a busy kubelet starts concurrently. */
const workers = 32;

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const folder = await mkdtemp(join(tmpdir(), "kindling-bench-"));
const rows = [
  await measure("in-process"),
  await measure("over a socket", `unix://${join(folder, "cri.sock")}`),
];
await rm(folder, { recursive: true });
console.log(
  `${formatNumber(pods)} pods of one container, with the labels, mounts and limits that kubelets send\n`,
);
printTable(["", "MB held", "bytes a pod", "pods/s", "ms a list of all"], rows);

async function measure(name: string, listen?: string): Promise<string[]> {
  const runtime = await startSimulatedRuntime({ listen, logger: silentLogger });
  const client = listen === undefined ? runtime.client : connectCri(listen);
  const image = ImageSpec.fromPartial({ image: "registry.example/web:1" });
  const { imageRef } = await client.images.pullImage(PullImageRequest.fromPartial({ image }));
  // Creates what is created once before the first measurement.
  for (let i = 0; i < 200; i++) await removePod(client, await startPod(client, i, imageRef));

  const before = heldBytes();
  const began = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while (next < pods) await startPod(client, next++, imageRef);
    }),
  );
  const seconds = (performance.now() - began) / 1_000;
  const bytes = heldBytes() - before;

  const listing = performance.now();
  const { containers } = await client.runtime.listContainers({ filter: undefined });
  if (containers.length !== pods) throw new Error(`${containers.length} containers instead of ${pods}`);
  const listMs = performance.now() - listing;
  client.close();
  await runtime.close();
  return [name, ...[bytes / 1e6, bytes / pods, pods / seconds, listMs].map(formatNumber)];
}

function heldBytes(): number {
  collectGarbage();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
}

async function startPod(client: CriClient, index: number, imageRef: string): Promise<string> {
  const sandboxConfig = podConfig(index);
  const request = RunPodSandboxRequest.fromPartial({ config: sandboxConfig });
  const { podSandboxId } = await client.runtime.runPodSandbox(request);
  const { containerId } = await client.runtime.createContainer(
    CreateContainerRequest.fromPartial({
      podSandboxId,
      sandboxConfig,
      config: containerConfig(index, imageRef),
    }),
  );
  await client.runtime.startContainer({ containerId });
  return podSandboxId;
}

async function removePod(client: CriClient, podSandboxId: string): Promise<void> {
  await client.runtime.removePodSandbox({ podSandboxId });
}

function uidOf(index: number): string {
  return `0f8fad5b-d9cb-469f-a165-${String(index).padStart(12, "0")}`;
}

function kubeletLabels(index: number): Record<string, string> {
  return {
    "io.kubernetes.pod.name": `web-${index}`,
    "io.kubernetes.pod.namespace": "bench",
    "io.kubernetes.pod.uid": uidOf(index),
  };
}

function podConfig(index: number): PodSandboxConfig {
  return PodSandboxConfig.fromPartial({
    metadata: { name: `web-${index}`, namespace: "bench", uid: uidOf(index), attempt: 0 },
    hostname: `web-${index}`,
    logDirectory: `/var/log/pods/bench_web-${index}_${uidOf(index)}`,
    dnsConfig: { servers: ["10.96.0.10"], searches: ["svc.cluster.local"], options: ["ndots:5"] },
    labels: { ...kubeletLabels(index), app: "web", "pod-template-hash": "6d4cf56db6" },
    annotations: {
      "kubernetes.io/config.seen": "2026-01-01T00:00:00.000000000Z",
      "kubernetes.io/config.source": "api",
    },
    linux: {
      cgroupParent: `/kubepods/burstable/pod${uidOf(index)}`,
      securityContext: { namespaceOptions: {} },
    },
  });
}

function containerConfig(index: number, image: string): CreateContainerRequest["config"] {
  const pod = `/var/lib/kubelet/pods/${uidOf(index)}`;
  const mounts = [
    [
      "/var/run/secrets/kubernetes.io/serviceaccount",
      `${pod}/volumes/kubernetes.io~projected/kube-api-access`,
    ],
    ["/etc/hosts", `${pod}/etc-hosts`],
    ["/dev/termination-log", `${pod}/containers/main/0`],
  ].map(([containerPath = "", hostPath = ""]) => ({ containerPath, hostPath }));
  const { config } = CreateContainerRequest.fromPartial({
    config: {
      metadata: { name: "main", attempt: 0 },
      image: { image, userSpecifiedImage: "registry.example/web:1" },
      envs: Array.from({ length: 10 }, (_, i) => ({
        key: `VARIABLE_${i}`,
        value: Buffer.from("some value"),
      })),
      mounts,
      labels: { ...kubeletLabels(index), "io.kubernetes.container.name": "main" },
      annotations: {
        "io.kubernetes.container.hash": "a1b2c3d4",
        "io.kubernetes.container.restartCount": "0",
        "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
        "io.kubernetes.container.terminationMessagePolicy": "File",
        "io.kubernetes.pod.terminationGracePeriod": "30",
      },
      logPath: "main/0.log",
      linux: {
        resources: { cpuPeriod: 100_000n, cpuQuota: 50_000n, cpuShares: 102n, memoryLimitInBytes: 2n ** 27n },
      },
    },
  });
  return config;
}

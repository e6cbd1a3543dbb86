import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../../src/client/api/client.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { startSimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { startKubelet } from "./bench-kubelet.ts";

interface PullingKubelet {
  readonly client: Client;
  readonly kubeconfig: string;
  readonly folder: string;
  readonly pulls: number;
  readonly seconds: number;
  readonly withProgress: boolean;
}

/** Measures CPU share and memory of a kubelet that pulls this many images concurrently on a simulated runtime. */
export async function measurePullingKubelet(options: PullingKubelet) {
  const { client, kubeconfig, folder, pulls, seconds, withProgress } = options;
  const nodeName = `pulling-${withProgress ? "with" : "without"}`;
  const endpoint = `unix://${join(folder, `${nodeName}.sock`)}`;
  const runtime = await startSimulatedRuntime({ listen: endpoint, logger: silentLogger });
  const kubelet = await startKubelet({
    program: "dist/kindling.js",
    nodeName,
    folder: join(folder, nodeName),
    kubeconfig,
    endpoint,
    config: { serializeImagePulls: false, featureGates: { ImagePullProgress: withProgress } },
  });
  try {
    await delay(5_000);
    const idle = await measure(kubelet, seconds / 2);
    await Promise.all(
      Array.from({ length: pulls }, (_, i) => client.create("pods", pullingPod(nodeName, i))),
    );
    // Creating sandboxes and the first events is not measured.
    await delay(15_000);
    const pulling = await measure(kubelet, seconds);
    const { items } = await client.list("events", { fieldSelector: "reason=Pulling" });
    const reports = items.filter(
      ({ message, source }) => source?.host === nodeName && message?.includes("Container image"),
    );
    return { idle, pulling, reported: reports.reduce((sum, { count = 1 }) => sum + count, 0) };
  } finally {
    await kubelet.stop();
    await runtime.close();
  }
}

async function measure(process: { cpuSeconds(): number; residentMegabytes(): number }, seconds: number) {
  const before = process.cpuSeconds();
  await delay(seconds * 1_000);
  return {
    percent: ((process.cpuSeconds() - before) / seconds) * 100,
    megabytes: process.residentMegabytes(),
  };
}

function pullingPod(nodeName: string, index: number) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${nodeName}-${index}`,
      namespace: "default",
      annotations: { "simulated.kindling.dev/pull": "size=64Gi rate=20Mi layers=8" },
    },
    spec: {
      nodeName,
      automountServiceAccountToken: false,
      dnsPolicy: "Default",
      terminationGracePeriodSeconds: 0,
      containers: [{ name: "c", image: `registry.example/app-${index}:1` }],
    },
  };
}

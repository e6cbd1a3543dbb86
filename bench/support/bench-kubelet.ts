import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type MeasuredProcess, startProcess } from "./child-process.ts";

export interface BenchKubeletOptions {
  /** `dist/kindling.js`, or an upstream kubelet. */
  readonly program: string;
  readonly nodeName: string;
  readonly folder: string;
  readonly kubeconfig: string;
  readonly endpoint: string;
  /** Additional configuration. */
  readonly config?: object;
}

/** Kindling's kubelet as a separate process. */
export async function startKubelet(options: BenchKubeletOptions): Promise<MeasuredProcess> {
  const { program, nodeName, folder, kubeconfig, endpoint } = options;
  const config = await writeConfiguration(folder, { port: 0, ...options.config });
  return startProcess([
    process.execPath,
    program,
    "kubelet",
    ...["--kubeconfig", kubeconfig, "--runtime-endpoint", endpoint, "--node-name", nodeName],
    ...["--data-dir", join(folder, "kubelet"), "--config", config, "--log-level", "error"],
  ]);
}

/** Upstream's kubelet with everything disabled that changes the machine. */
export async function startUpstreamKubelet(options: BenchKubeletOptions): Promise<MeasuredProcess> {
  const { program, nodeName, folder, kubeconfig, endpoint } = options;
  const config = await writeConfiguration(folder, {
    port: 10_260,
    healthzPort: 0,
    containerRuntimeEndpoint: endpoint,
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    failSwapOn: false,
    failCgroupV1: false,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: "AlwaysAllow" },
    podLogsDir: join(folder, "logs"),
    imageGCHighThresholdPercent: 100,
    evictionHard: { "memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%" },
  });
  return startProcess([
    program,
    ...["--kubeconfig", kubeconfig, "--hostname-override", nodeName, "--config", config],
    ...["--root-dir", join(folder, "kubelet"), "--cert-dir", join(folder, "pki"), "--v", "0"],
  ]);
}

async function writeConfiguration(folder: string, fields: object): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, "kubelet.yaml");
  const kind = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
  await writeFile(file, JSON.stringify({ ...kind, ...fields }));
  return file;
}

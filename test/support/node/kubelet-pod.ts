import { join } from "node:path";
import type { ContainerStatus, Pod } from "../../../src/api/meta/objects.ts";
import type { PodSandboxConfig } from "../../../src/cri/generated/cri.ts";
import { type ContainerOptions, podConfig, runContainer, runSandbox, statusOf } from "../cri/cri-pod.ts";
import { type CriRuntime, startCriRuntime } from "../cri/cri-runtime.ts";
import { type KubeletServerFixture, startKubeletFixture } from "./kubelet-server.ts";

/** A kubelet's server with our runtime behind it, and pods that are made by hand in both. */
export interface KubeletBench {
  readonly kubelet: KubeletServerFixture;
  readonly runtime: BenchRuntime;
  makePod(name: string, containers: Readonly<Record<string, ContainerOptions>>): Promise<HandmadePod>;
  close(): Promise<void>;
}

type BenchRuntime = Pick<CriRuntime, "client" | "directory" | "stop">;

export interface HandmadePod {
  readonly name: string;
  /** What a kubelet knows of it. */
  readonly pod: Pod;
  containerId(container: string): string;
  logPath(container: string): string;
  /** Makes the container again: the current one is the one before then. */
  restart(container: string): Promise<void>;
  setState(container: string, status: Partial<ContainerStatus>): void;
}

/** Defaults to our runtime. */
export async function startKubeletBench(given?: BenchRuntime): Promise<KubeletBench> {
  const runtime = given ?? (await startCriRuntime({ driver: "host" }));
  const logsDir = join(runtime.directory, "logs");
  const kubelet = await startKubeletFixture({ cri: runtime.client, logsDir });
  return {
    kubelet,
    runtime,
    makePod: (name, containers) => makePod({ kubelet, runtime }, name, containers),
    async close() {
      await kubelet.close();
      await runtime.stop();
    },
  };
}

async function makePod(
  { kubelet, runtime }: Pick<KubeletBench, "kubelet" | "runtime">,
  name: string,
  containers: Readonly<Record<string, ContainerOptions>>,
): Promise<HandmadePod> {
  const created = await kubelet.api.json<Pod>("POST", "/api/v1/namespaces/default/pods", {
    metadata: { name },
    spec: {
      nodeName: "n1",
      containers: Object.entries(containers).map(([container, { stdin, tty }]) => ({
        name: container,
        image: "test.local/busybox:1",
        ...(stdin && { stdin }),
        ...(tty && { tty }),
      })),
    },
  });
  const uid = created.metadata.uid ?? "";
  const logDirectory = join(kubelet.logsDir, `default_${name}_${uid}`);
  const sandboxConfig = podConfig({
    metadata: { name, namespace: "default", uid, attempt: 0 },
    labels: { "io.kubernetes.pod.uid": uid },
    logDirectory,
  });
  const sandboxId = await runSandbox(runtime.client, sandboxConfig);
  const statuses = new Map<string, ContainerStatus>();
  const pod: Pod = { ...created, status: { ...created.status, phase: "Running", containerStatuses: [] } };
  const publish = () => Object.assign(pod.status ?? {}, { containerStatuses: [...statuses.values()] });

  async function start(container: string, attempt: number): Promise<void> {
    const before = statuses.get(container);
    const containerId = await startContainer({ runtime, sandboxId, sandboxConfig }, container, {
      ...containers[container],
      attempt,
    });
    statuses.set(container, runningStatus(container, { containerId, attempt, before }));
    publish();
  }
  for (const container of Object.keys(containers)) await start(container, 0);
  kubelet.pods.set(`default/${name}`, pod);
  // kubectl waits for a pod to run before it attaches.
  await kubelet.api.json("PUT", `/api/v1/namespaces/default/pods/${name}/status`, pod);

  const idOf = (container: string) => (statuses.get(container)?.containerID ?? "").replace(/.*:\/\//, "");
  const attemptOf = (container: string) => statuses.get(container)?.restartCount ?? 0;
  return {
    name,
    pod,
    containerId: idOf,
    logPath: (container) => join(logDirectory, container, `${attemptOf(container)}.log`),
    async restart(container) {
      await runtime.client.runtime.stopContainer({ containerId: idOf(container), timeout: 0n });
      await start(container, attemptOf(container) + 1);
    },
    setState(container, status) {
      const current = statuses.get(container);
      if (current) statuses.set(container, { ...current, ...status });
      publish();
    },
  };
}

async function startContainer(
  place: { runtime: BenchRuntime; sandboxId: string; sandboxConfig: PodSandboxConfig },
  name: string,
  { attempt, ...options }: ContainerOptions & { attempt: number },
): Promise<string> {
  const { runtime, sandboxId, sandboxConfig } = place;
  const containerId = await runContainer(runtime.client, sandboxId, {
    ...options,
    metadata: { name, attempt },
    logPath: `${name}/${attempt}.log`,
    sandboxConfig,
  });
  await statusOf(runtime.client, containerId);
  return containerId;
}

function runningStatus(
  name: string,
  options: { containerId: string; attempt: number; before: ContainerStatus | undefined },
): ContainerStatus {
  const { containerId, attempt, before } = options;
  return {
    name,
    image: "test.local/busybox:1",
    imageID: "",
    ready: true,
    restartCount: attempt,
    containerID: `kindling://${containerId}`,
    state: { running: { startedAt: new Date().toISOString() } },
    lastState: before ? { terminated: { exitCode: 137, containerID: before.containerID } } : {},
  };
}

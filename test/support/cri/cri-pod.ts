import { setTimeout as delay } from "node:timers/promises";
import type { CriClient } from "../../../src/cri/cri-client.ts";
import {
  ContainerConfig,
  ContainerState,
  type ContainerStatus,
  CreateContainerRequest,
  NamespaceMode,
  PodSandboxConfig,
  RunPodSandboxRequest,
} from "../../../src/cri/generated/cri.ts";
import { busyboxImage } from "./cri-runtime.ts";

type Partial_<T extends { fromPartial(object: never): unknown }> = Parameters<T["fromPartial"]>[0];
export type SandboxOptions = Partial_<typeof PodSandboxConfig>;
export type ContainerOptions = Partial_<typeof ContainerConfig>;

let count = 0;

/** As a kubelet sends it for an ordinary pod: processes are each container's own. */
export function podConfig(options: SandboxOptions = {}): PodSandboxConfig {
  const name = `pod-${process.pid}-${++count}`;
  return PodSandboxConfig.fromPartial({
    metadata: { name, namespace: "default", uid: `uid-${name}`, attempt: 0 },
    hostname: name,
    linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER } } },
    ...options,
  });
}

export function containerConfig(options: ContainerOptions = {}): ContainerConfig {
  return ContainerConfig.fromPartial({
    metadata: { name: "main", attempt: 0 },
    image: { image: busyboxImage },
    linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER } } },
    ...options,
  });
}

export async function runSandbox(client: CriClient, config = podConfig()): Promise<string> {
  const request = RunPodSandboxRequest.fromPartial({ config });
  const { podSandboxId } = await client.runtime.runPodSandbox(request);
  return podSandboxId;
}

/** Creates and starts. */
export async function runContainer(
  client: CriClient,
  podSandboxId: string,
  options: ContainerOptions & { sandboxConfig?: PodSandboxConfig } = {},
): Promise<string> {
  const { sandboxConfig = podConfig(), ...config } = options;
  const request = CreateContainerRequest.fromPartial({
    podSandboxId,
    config: containerConfig(config),
    sandboxConfig,
  });
  const { containerId } = await client.runtime.createContainer(request);
  await client.runtime.startContainer({ containerId });
  return containerId;
}

export async function statusOf(client: CriClient, containerId: string): Promise<ContainerStatus> {
  const { status } = await client.runtime.containerStatus({ containerId, verbose: false });
  if (!status) throw new Error("a status without a status");
  return status;
}

export async function untilExited(client: CriClient, containerId: string): Promise<ContainerStatus> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const status = await statusOf(client, containerId);
    if (status.state === ContainerState.CONTAINER_EXITED) return status;
    await delay(20);
  }
  throw new Error(`container ${containerId} does not end`);
}

/** Runs a command in a container; its output and exit code. */
export async function execIn(
  client: CriClient,
  containerId: string,
  script: string,
): Promise<{ stdout: string; stderr: string; exitCode: number }> {
  const request = { containerId, cmd: ["sh", "-c", script], timeout: 60n };
  const { stdout, stderr, exitCode } = await client.runtime.execSync(request);
  return { stdout: Buffer.from(stdout).toString(), stderr: Buffer.from(stderr).toString(), exitCode };
}

import { expect } from "vitest";
import type { CriClient } from "../../../src/cri/cri-client.ts";
import { type ContainerOptions, execIn, podConfig, runContainer, runSandbox } from "./cri-pod.ts";

/** Programs are given twice: as commands for runtimes that run them, as annotations for one that does not. */
interface Program {
  readonly container: ContainerOptions;
  readonly annotations: Record<string, string>;
}

function program(script: string, annotations: Record<string, string> = {}): Program {
  const prefixed = Object.entries(annotations).map(([key, value]) => [
    `simulated.kindling.dev/${key}`,
    value,
  ]);
  return { container: { command: ["sh", "-c", script] }, annotations: Object.fromEntries(prefixed) };
}

/** Creates a file when it handles its stop signal. */
export const polite = program("trap 'exit 143' TERM; echo > /tmp/ready; while :; do sleep 0.05; done");
export const deaf = program("trap '' TERM; echo > /tmp/ready; while :; do sleep 0.05; done", {
  "stop-delay": "1h",
});
export const failing = program("sleep 0.2; exit 3", { exit: "code=3 after=200ms" });
export const succeeding = program("exit 0", { exit: "code=0" });

export type Client = () => CriClient;

export async function runPod(client: CriClient, { container, annotations }: Program) {
  const config = podConfig({ annotations });
  const sandbox = await runSandbox(client, config);
  const containerId = await runContainer(client, sandbox, { ...container, sandboxConfig: config });
  return { sandbox, containerId };
}

export async function untilReady(client: CriClient, containerId: string): Promise<void> {
  await expect.poll(async () => (await execIn(client, containerId, "test -e /tmp/ready")).exitCode).toBe(0);
}

export const remove = (client: CriClient, podSandboxId: string) =>
  client.runtime.removePodSandbox({ podSandboxId });

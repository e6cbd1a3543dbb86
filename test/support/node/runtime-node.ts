import { afterAll, afterEach, beforeAll } from "vitest";
import type { Pod } from "../../../src/api/meta/objects.ts";
import { execIn } from "../cri/cri-pod.ts";
import { busyboxImage, type CriRuntime, startCriRuntime } from "../cri/cri-runtime.ts";
import { type KubeletNode, type KubeletNodeOptions, startKubeletNode } from "./kubelet-node.ts";

/** A node of real containers, on our own runtime, for the tests of a file. */
export interface RuntimeNode {
  readonly node: KubeletNode;
  readonly runtime: CriRuntime;
  /** Runs a shell script in a container of the pod and returns its output. Fails when the script does. */
  exec(pod: Pod, script: string, container?: string): Promise<string>;
}

/** Filled before the first test. */
export function useRuntimeNode(
  options: Partial<KubeletNodeOptions> & { readonly driver: "oci" | "host" },
): RuntimeNode {
  const fixture: { -readonly [Name in keyof RuntimeNode]?: RuntimeNode[Name] } = {
    async exec(pod, script, container) {
      if (!fixture.runtime) throw new Error("there is no runtime yet");
      const { exitCode, stdout, stderr } = await execIn(
        fixture.runtime.client,
        containerIdOf(pod, container),
        script,
      );
      if (exitCode !== 0) throw new Error(`${script}: exit code ${exitCode}, ${stdout}${stderr}`);
      return stdout;
    },
  };
  beforeAll(async () => {
    const runtime = await startCriRuntime({ driver: options.driver });
    fixture.runtime = runtime;
    fixture.node = await startKubeletNode({ cri: runtime.client, ...options });
  });
  // What a test has shown need not be probed on beside the next one.
  afterEach(async () => {
    await fixture.node?.client.deleteCollection("pods", { namespace: "default" });
  });
  afterAll(async () => {
    await fixture.node?.close();
    await fixture.runtime?.stop();
  });
  return fixture as RuntimeNode;
}

export function containerIdOf({ status }: Pod, container?: string): string {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  const found = container ? statuses.find(({ name }) => name === container) : statuses[0];
  return found?.containerID?.replace(/^.*:\/\//, "") ?? "";
}

/** A container that runs a shell script. */
export function shell(script: string, more: object = {}) {
  return { name: "c", image: busyboxImage, command: ["sh", "-c", script], ...more };
}

/** End of a script that runs until SIGTERM and then exits at once. */
export const untilTold = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

/** The same with a startup probe that asks each second and has patience. */
export function probed(handler: object, script: string, more: object = {}) {
  return shell(script, {
    startupProbe: { periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 60, ...handler },
    ...more,
  });
}

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { Pod, RuntimeClass } from "../../src/api/meta/objects.ts";
import type { CriClient } from "../../src/cri/cri-client.ts";
import { findCause, recoveryOf } from "../../src/explain/causes.ts";
import { containerFailure } from "../../src/explain/container-failure.ts";
import { startContainerd } from "../support/cri/containerd.ts";
import { busyboxImage, startCriRuntime, writeBusyboxTree } from "../support/cri/cri-runtime.ts";
import { type KubeletNode, startKubeletNode } from "../support/node/kubelet-node.ts";
import { shell } from "../support/node/runtime-node.ts";
import { describeWithTool, type ToolName, toolPath } from "../support/programs/tools.ts";
import { type FakeRegistry, layerOf, startFakeRegistry } from "../support/registry/fake-registry.ts";
import { writeImageArchive } from "../support/registry/image-archive.ts";

interface Runtime {
  readonly client: CriClient;
  stop(): Promise<void>;
}

async function startContainerdOf(tool: "containerd" | "containerd-2"): Promise<Runtime> {
  const folder = await mkdtemp(join(tmpdir(), "kdl-"));
  const root = join(folder, "busybox");
  await writeBusyboxTree(root);
  const archives = [writeImageArchive({ root, tag: busyboxImage, command: ["sh"] })];
  const containerd = await startContainerd({ program: toolPath(tool), folder: join(folder, "c"), archives });
  const stop = () => containerd.stop().then(() => rm(folder, { recursive: true, force: true }));
  return { ...containerd, stop };
}

const runtimes: readonly { tool: ToolName; name: string; start: () => Promise<Runtime> }[] = [
  { tool: "containerd", name: "containerd 1.6", start: () => startContainerdOf("containerd") },
  { tool: "containerd-2", name: "containerd 2", start: () => startContainerdOf("containerd-2") },
  { tool: "conmon", name: "the driver oci", start: () => startCriRuntime({ driver: "oci" }) },
  { tool: "busybox", name: "the driver host", start: () => startCriRuntime({ driver: "host" }) },
];

/** Failure that the kubelet reports now, of the only container or of the sandbox. */
function failureOf(pod: Pod) {
  const [status] = pod.status?.containerStatuses ?? [];
  const sandbox = conditionOf(pod, "PodReadyToStartContainers");
  if (sandbox?.reason === "FailedCreatePodSandBox")
    return { reason: sandbox.reason, message: sandbox.message ?? "" };
  return status && containerFailure(pod, status, { now: Date.now() });
}

for (const { tool, name: runtimeName, start } of runtimes) {
  describeWithTool(tool, `causes that a kubelet on ${runtimeName} reports`, () => {
    let registry: FakeRegistry;
    let runtime: Runtime;
    let node: KubeletNode;

    beforeAll(async () => {
      registry = await startFakeRegistry({
        layers: [layerOf("file", "content")],
        handle(request, response) {
          if (!request.url?.startsWith("/v2/private/")) return false;
          response.writeHead(401, { "www-authenticate": 'Basic realm="private"' }).end();
          return true;
        },
      });
      runtime = await start();
      node = await startKubeletNode({ cri: runtime.client });
      await node.client.create("runtimeclasses", {
        apiVersion: "node.k8s.io/v1",
        kind: "RuntimeClass",
        metadata: { name: "kata" },
        handler: "kata",
      } as RuntimeClass);
    });
    afterAll(async () => {
      await node?.close();
      await runtime?.stop();
      await registry?.stop();
    });

    const pulled = (image: string) => ({ containers: [{ name: "c", image }] });
    test.each([
      ["MissingBinary", "permanent", () => ({ containers: [shell("", { command: ["nothing"] })] })],
      ["MissingBinary", "permanent", () => ({ containers: [shell("", { command: ["/nothing"] })] })],
      ["MissingCommand", "permanent", () => pulled(`${registry.host}/app:v1`)],
      ["ImageNotFound", "transient", () => pulled(`${registry.host}/absent:v1`)],
      ["ImagePullDenied", "transient", () => pulled(`${registry.host}/private:v1`)],
      ["RegistryUnreachable", "transient", () => pulled("127.0.0.1:1/app:v1")],
      ["ContainerExits", "transient", () => ({ containers: [shell("exit 3")] })],
      [
        "MissingRuntimeHandler",
        "permanent",
        () => ({ runtimeClassName: "kata", containers: [shell("exit 3")] }),
      ],
    ])("%s is %s", async (cause, recovery, spec) => {
      const name = `pod-${Math.random().toString(36).slice(2)}`;
      await node.run(name, spec());
      const pod = await node.until(name, (it) => failureOf(it) !== undefined);
      const failure = failureOf(pod);
      expect([failure, failure && findCause(failure)?.name]).toEqual([failure, cause]);
      expect(failure && recoveryOf(failure)).toBe(recovery);
    });
  });
}

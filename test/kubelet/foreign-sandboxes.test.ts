import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Pod } from "../../src/api/meta/objects.ts";
import type { CriClient } from "../../src/cri/cri-client.ts";
import { ContainerState, PodSandboxState } from "../../src/cri/generated/cri.ts";
import { startContainerd } from "../support/cri/containerd.ts";
import { podConfig, runContainer, runSandbox, statusOf } from "../support/cri/cri-pod.ts";
import { busyboxImage, startCriRuntime, writeBusyboxTree } from "../support/cri/cri-runtime.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { ownPort } from "../support/network/own-share.ts";
import { type KubeletNode, startKubeletNode } from "../support/node/kubelet-node.ts";
import { containerIdOf, shell, untilTold } from "../support/node/runtime-node.ts";
import { isReady } from "../support/node/simulated-node.ts";
import { kindling } from "../support/programs/run-kindling.ts";
import { describeWithTool, type ToolName, toolPath } from "../support/programs/tools.ts";
import { type RecordedCri, recordCri } from "../support/recorded-cri.ts";
import { writeImageArchive } from "../support/registry/image-archive.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

interface Runtime {
  readonly client: CriClient;
  readonly endpoint: string;
  stop(): Promise<void>;
}

async function startContainerdOf(tool: "containerd" | "containerd-2"): Promise<Runtime> {
  const folder = await mkdtemp(join(tmpdir(), "kdl-"));
  await writeBusyboxTree(join(folder, "busybox"));
  const root = join(folder, "busybox");
  const archive = writeImageArchive({ root, tag: busyboxImage, command: ["sh"] });
  const program = toolPath(tool);
  const containerd = await startContainerd({ program, folder: join(folder, "c"), archives: [archive] });
  const stop = () => containerd.stop().then(() => rm(folder, { recursive: true, force: true }));
  return { ...containerd, stop };
}

const runtimes: readonly { tool: ToolName; name: string; start: () => Promise<Runtime> }[] = [
  { tool: "containerd", name: "containerd 1.6", start: () => startContainerdOf("containerd") },
  { tool: "containerd-2", name: "containerd 2", start: () => startContainerdOf("containerd-2") },
  { tool: "runc", name: "our runtime", start: () => startCriRuntime({ driver: "oci" }) },
];

for (const { tool, name: runtimeName, start } of runtimes) {
  describeWithTool(tool, `a kubelet and another one's sandboxes on ${runtimeName}`, () => {
    const dataDir = temporaryFolder();
    const pod = { containers: [shell(untilTold)] };
    let runtime: Runtime;
    let recorded: RecordedCri;
    let server: TestServer;
    let node: KubeletNode;

    beforeAll(async () => {
      runtime = await start();
      recorded = recordCri(runtime.client);
      server = await startTestServer({ dataDir, port: await ownPort(), store: { kind: "lmdb" } });
      node = await startKubeletNode({ cri: recorded.client, server });
    });
    afterAll(async () => {
      try {
        await node?.close();
      } finally {
        await server?.close();
        await runtime?.stop();
      }
    });

    async function bringServerBack(): Promise<void> {
      const port = Number(new URL(server.url).port);
      server = await startTestServer({ dataDir, port, store: { kind: "lmdb" } });
    }

    const listSandboxes = async () =>
      (await runtime.client.runtime.listPodSandbox({ filter: undefined })).items;
    const sandboxOf = async ({ metadata }: Pod) =>
      (await listSandboxes()).find((sandbox) => sandbox.metadata?.uid === metadata.uid);

    /** A pod as upstream's kubelet makes it, with a container that runs. */
    async function runForeignPod(name: string) {
      const metadata = { name, namespace: "kube-system", uid: `uid-${name}`, attempt: 0 };
      const labels = {
        "io.kubernetes.pod.name": name,
        "io.kubernetes.pod.namespace": "kube-system",
        "io.kubernetes.pod.uid": metadata.uid,
      };
      const annotations = {
        "kubernetes.io/config.seen": "2026-01-01T00:00:00Z",
        "kubernetes.io/config.source": "api",
      };
      const logDirectory = join(dataDir, `foreign-${name}`);
      const sandboxConfig = podConfig({ metadata, labels, annotations, logDirectory });
      const sandboxId = await runSandbox(runtime.client, sandboxConfig);
      const containerId = await runContainer(runtime.client, sandboxId, {
        sandboxConfig,
        command: ["sh", "-c", untilTold],
        labels: { ...labels, "io.kubernetes.container.name": "main" },
        logPath: "main.log",
      });
      return { sandboxId, containerId };
    }

    async function expectRunning({ sandboxId, containerId }: { sandboxId: string; containerId: string }) {
      const found = (await listSandboxes()).find(({ id }) => id === sandboxId);
      expect(found?.state).toBe(PodSandboxState.SANDBOX_READY);
      expect((await statusOf(runtime.client, containerId)).state).toBe(ContainerState.CONTAINER_RUNNING);
    }

    test("an upgrade: the sandboxes of an earlier version are taken over without a flag and without the API server", async () => {
      recorded.earlierVersion = true;
      const made = await node.run("earlier", pod);
      const before = await node.until("earlier", isReady);
      expect((await sandboxOf(made))?.annotations).toEqual({});
      await node.stop();
      recorded.earlierVersion = false;
      // Earlier versions kept no record either.
      await rm(join(node.dataDir, "identity.json"), { force: true });
      await server.close();
      recorded.changes.length = 0;
      await node.start({ untilReady: false });
      await bringServerBack();
      const after = await node.until("earlier", isReady);
      expect(containerIdOf(after)).toBe(containerIdOf(before));
      expect(recorded.changes).toEqual([]);
      await node.client.delete("pods", { namespace: "default", name: "earlier" });
      await node.untilGone("earlier");
      expect(await sandboxOf(made)).toBeUndefined();
    });

    test("sandboxes are annotated with the cluster's uid and the node's name, which pods cannot override", async () => {
      const annotations = { "kindling.dev/node-name": "forged", note: "kept" };
      const made = await node.run("marked", pod, { annotations });
      await node.until("marked", isReady);
      const { metadata } = await node.client.get("namespaces", { name: "kube-system" });
      expect((await sandboxOf(made))?.annotations).toEqual({
        note: "kept",
        "kindling.dev/node-name": node.name,
        "kindling.dev/cluster-uid": metadata.uid,
      });
    });

    test("a sandbox of another kubelet that appears while the kubelet runs is not changed", async () => {
      const foreign = await runForeignPod("comes-later");
      await node.run("beside", pod);
      await node.until("beside", isReady);
      await node.client.delete("pods", { namespace: "default", name: "beside" });
      await node.untilGone("beside");
      await expectRunning(foreign);
      expect(recorded.changes.filter((change) => change.includes(foreign.sandboxId))).toEqual([]);
    });

    test("with sandboxes of another kubelet the kubelet does not start and changes nothing; --adopt-sandboxes adopts them", async () => {
      const own = await node.until("marked", isReady);
      await node.stop();
      await server.close();
      const foreign = await runForeignPod("first");
      recorded.changes.length = 0;
      const says =
        /the runtime has 2 pod sandboxes that this kubelet did not create, for example kube-system\/(first|comes-later) .*--adopt-sandboxes/;
      await expect(node.start({ untilReady: false })).rejects.toThrow(says);
      const help = await kindling(
        ...["kubelet", "--kubeconfig", server.kubeconfig, "--runtime-endpoint", runtime.endpoint],
        ...["--node-name", node.name, "--data-dir", node.dataDir],
      );
      expect(help.code).toBe(1);
      expect(help.stderr).toMatch(says);
      expect(recorded.changes).toEqual([]);
      await expectRunning(foreign);

      await node.start({ adoptSandboxes: true, untilReady: false });
      await node.stop();
      // Adopted once, they need the flag no more.
      await node.start({ untilReady: false });
      expect(recorded.changes).toEqual([]);
      await expectRunning(foreign);
      await bringServerBack();
      await expect
        .poll(async () => (await listSandboxes()).map(({ metadata }) => metadata?.name), { timeout: 60_000 })
        .toEqual(["marked"]);
      expect(containerIdOf(await node.until("marked", isReady))).toBe(containerIdOf(own));
    });
  });
}

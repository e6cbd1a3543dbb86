import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startContainerd } from "../../support/cri/containerd.ts";
import { busyboxImage, writeBusyboxTree } from "../../support/cri/cri-runtime.ts";
import { createKubectl, type Kubectl } from "../../support/kubectl/kubectl.ts";
import {
  fetchText,
  loopbackServer,
  portForwardProtocols,
  startPortForward,
} from "../../support/kubectl/port-forward.ts";
import { type KubeletBench, startKubeletBench } from "../../support/node/kubelet-pod.ts";
import { describeWithTool, toolPath } from "../../support/programs/tools.ts";
import { writeImageArchive } from "../../support/registry/image-archive.ts";

/** kubectl, through the API server, to a kubelet's server, to containerd's own streaming server. */
for (const tool of ["containerd", "containerd-2"] as const)
  describeWithTool(tool, `streams and logs of ${tool}`, () =>
    describeWithTool("kubectl", "with kubectl", () => {
      let folder: string;
      let bench: KubeletBench;
      let kubectl: Kubectl;
      beforeAll(async () => {
        folder = await mkdtemp(join(tmpdir(), "kdl-"));
        await writeBusyboxTree(join(folder, "busybox"));
        const image = { root: join(folder, "busybox"), tag: busyboxImage, command: ["sh"] };
        const archives = [writeImageArchive(image)];
        const containerd = await startContainerd({
          program: toolPath(tool),
          folder: join(folder, "c"),
          archives,
        });
        bench = await startKubeletBench({
          client: containerd.client,
          directory: folder,
          stop: containerd.stop,
        });
        kubectl = createKubectl(bench.kubelet.api.kubeconfig);
        await bench.makePod("shell", { web: { command: ["sh", "-c", "echo started; exec sleep 1000"] } });
      });
      afterAll(async () => {
        await bench?.close();
        await rm(folder, { recursive: true, force: true });
      });

      test("logs, as containerd writes them", async () => {
        await expect.poll(() => kubectl.ok("logs shell")).toBe("started\n");
        expect(await kubectl.ok("logs shell --timestamps")).toMatch(
          /^\d{4}-\d\d-\d\dT\S+\.\d{9}\S+ started\n$/,
        );
      });

      test.each(portForwardProtocols)("port-forward over %s", async (_, env) => {
        await bench.makePod(`server-${env.KUBECTL_PORT_FORWARD_WEBSOCKETS}`, { web: loopbackServer });
        const pod = `server-${env.KUBECTL_PORT_FORWARD_WEBSOCKETS}`;
        const { kubeconfig } = bench.kubelet.api;
        const forward = await startPortForward({ kubeconfig, args: [pod, ":8080"], env });
        await expect.poll(() => fetchText(forward.port)).toBe("hello");
        await forward.stop();
      });

      describe.each([
        // kubectl falls back to SPDY for protocols that containerd does not support over WebSocket.
        ["whatever both speak", "true"],
        ["SPDY", "false"],
      ])("exec over %s", (_, value) => {
        const env = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: value };
        test("outputs, exit code and input", async () => {
          const words = ["exec", "shell", "--", "sh", "-c", "echo out; echo err >&2; exit 7"];
          const { code, stdout, stderr } = await kubectl.run(words, { env });
          expect({ code, stdout }).toEqual({ code: 7, stdout: "out\n" });
          expect(stderr).toContain("err\n");
          const input = "x".repeat(300_000);
          expect(await kubectl.ok(["exec", "-i", "shell", "--", "cat"], { env, input })).toBe(input);
        });
      });
    }),
  );

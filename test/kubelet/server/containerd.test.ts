import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startContainerd } from "../../support/containerd.ts";
import { busyboxImage, writeBusyboxTree } from "../../support/cri-runtime.ts";
import { writeImageArchive } from "../../support/image-archive.ts";
import { createKubectl, type Kubectl } from "../../support/kubectl.ts";
import { type KubeletBench, startKubeletBench } from "../../support/kubelet-pod.ts";
import { describeWithTool, toolPath } from "../../support/tools.ts";

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

      describe.each([
        // What it does not speak over WebSocket, kubectl then asks for over SPDY.
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

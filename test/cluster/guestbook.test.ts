import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { orderFromDaemon } from "../../src/runtime/control-server.ts";
import { startUp } from "../support/cluster/up-process.ts";
import { buildBusybox, busyboxImage } from "../support/cri/cri-runtime.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { describeWithTool, toolPath } from "../support/programs/tools.ts";

describe.each([
  { backend: "nftables", tool: "nft" },
  { backend: "userspace", tool: "ip" },
] as const)("examples/guestbook with the service proxy $backend", ({ backend, tool }) => {
  describeWithTool(tool, "where it works", () => {
    describeWithTool("runc", "with containers", () => {
      describeWithTool("kubectl", "as the client in a pod", () => guestbookTest(backend));
    });
  });
});

const kubectlImage = "localhost/kubectl:test";

/** Builds an image with kubectl and the libraries that it is linked to. */
async function buildKubectl(dataDir: string, directory: string): Promise<void> {
  const kubectl = toolPath("kubectl");
  const { stdout } = await promisify(execFile)("ldd", [kubectl]).catch(() => ({ stdout: "" }));
  const libraries = stdout.match(/\/\S+/g) ?? [];
  for (const [from, to] of [
    [kubectl, "bin/kubectl"] as const,
    ...libraries.map((file) => [file, file] as const),
  ])
    await cp(from, join(directory, to), { dereference: true });
  const options = { directory, tag: kubectlImage, command: ["kubectl"] };
  await orderFromDaemon(dataDir, { kind: "build", options });
}

function guestbookTest(backend: string): void {
  const folder = temporaryFolder();

  test("services and pods are reached by name, and a pod lists the pods with its token", async ({
    onTestFinished,
  }) => {
    const { kubeconfig, kubectl, kill } = await startUp([
      ...["--ephemeral", "--dashboard", "off"],
      ...["--service-proxy", backend],
    ]);
    onTestFinished(async () => void (await kill("SIGTERM")));
    const dataDir = join(kubeconfig, "../nodes/node-1/runtime");
    await buildBusybox({ dataDir, directory: await mkdtemp(join(folder, "image-")) });
    await buildKubectl(dataDir, await mkdtemp(join(folder, "kubectl-")));
    const manifest = await readFile("examples/guestbook/guestbook.yaml", "utf8");
    await kubectl.ok("apply -f -", {
      input: manifest
        .replaceAll("image: busybox", `image: ${busyboxImage}`)
        .replace(/image: registry.k8s.io\/kubectl\S+/, `image: ${kubectlImage}`),
    });
    const entries = [0, 1].map((i) => `entry of entries-${i}.entries.default.svc.cluster.local`);
    await expect
      .poll(async () => (await kubectl.run("logs client")).stdout.trim().split("\n"), { timeout: 120_000 })
      .toEqual(["guestbook", ...entries]);
    const entryPods = ["pod/entries-0", "pod/entries-1"];
    await expect
      .poll(async () => (await kubectl.run("logs lister")).stdout.split("\n"), { timeout: 120_000 })
      .toEqual(expect.arrayContaining(["pod/client", ...entryPods]));
    expect(await kubectl.ok("exec client -- cat /etc/resolv.conf")).toBe(
      "search default.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n",
    );
    expect(await kubectl.ok("exec entries-1 -- hostname -f")).toBe(
      "entries-1.entries.default.svc.cluster.local\n",
    );
    expect(await kubectl.ok("get events")).not.toContain("MissingClusterDNS");
  });
}

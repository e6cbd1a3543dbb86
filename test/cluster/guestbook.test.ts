import { mkdtemp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startUp } from "../support/cluster/up-process.ts";
import { buildBusybox, busyboxImage } from "../support/cri/cri-runtime.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { describeWithTool } from "../support/programs/tools.ts";

describe.each([
  { backend: "nftables", tool: "nft" },
  { backend: "userspace", tool: "ip" },
] as const)("examples/guestbook with the service proxy $backend", ({ backend, tool }) => {
  describeWithTool(tool, "where it works", () => {
    describeWithTool("runc", "with containers", () => guestbookTest(backend));
  });
});

function guestbookTest(backend: string): void {
  const folder = temporaryFolder();

  test("three services and the pods of a StatefulSet are reached by name", async ({ onTestFinished }) => {
    const { kubeconfig, kubectl, kill } = await startUp([
      ...["--ephemeral", "--dashboard", "off"],
      ...["--service-proxy", backend],
    ]);
    onTestFinished(async () => void (await kill("SIGTERM")));
    await buildBusybox({
      dataDir: join(kubeconfig, "../nodes/node-1/runtime"),
      directory: await mkdtemp(join(folder, "image-")),
    });
    const manifest = await readFile("examples/guestbook/guestbook.yaml", "utf8");
    await kubectl.ok("apply -f -", {
      input: manifest.replaceAll("image: busybox", `image: ${busyboxImage}`),
    });
    const entries = [0, 1].map((i) => `entry of entries-${i}.entries.default.svc.cluster.local`);
    await expect
      .poll(async () => (await kubectl.run("logs client")).stdout.trim().split("\n"), { timeout: 120_000 })
      .toEqual(["guestbook", ...entries]);
    expect(await kubectl.ok("exec client -- cat /etc/resolv.conf")).toBe(
      "search default.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n",
    );
    expect(await kubectl.ok("exec entries-1 -- hostname -f")).toBe(
      "entries-1.entries.default.svc.cluster.local\n",
    );
    expect(await kubectl.ok("get events")).not.toContain("MissingClusterDNS");
  });
}

import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startUp, type UpProcess } from "../support/cluster/up-process.ts";
import { buildBusybox } from "../support/cri/cri-runtime.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod, userPod } from "../support/manifests/pod.ts";
import { shell } from "../support/node/runtime-node.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const pod = (name: string, script: string) =>
  JSON.stringify(
    makePod(name, { ...userPod, container: { ...shell(script), imagePullPolicy: "IfNotPresent" } }),
  );

describeWithTool("kubectl", "kindling up", () => {
  describeWithTool("busybox", "with real containers", () => {
    const folder = temporaryFolder();
    let up: UpProcess;

    beforeAll(async () => {
      up = await startUp(["--data-dir", folder]);
      await buildBusybox({ dataDir: join(folder, "nodes/node-1/runtime"), directory: folder });
    });
    afterAll(async () => {
      await up?.kubectl.run("delete pods --all --timeout=60s");
      await up?.kill("SIGTERM");
    });

    test("a pod is scheduled and runs, and logs and exec work", async () => {
      const { kubectl } = up;
      await expect.poll(() => kubectl.ok("get nodes --no-headers")).toMatch(/^node-1 +Ready/);
      await kubectl.ok("apply -f -", { input: pod("web", "echo hello from $HOSTNAME; sleep 1000") });
      await kubectl.ok("wait --for=condition=Ready pod/web --timeout=60s");
      // Without a probe a pod is ready when its process is there, which has said nothing yet.
      await expect.poll(() => kubectl.ok("logs web")).toBe("hello from web\n");
      expect(await kubectl.ok("exec web -- cat /etc/hostname")).toBe("web\n");
      await expect
        .poll(() => kubectl.ok("get events --field-selector involvedObject.name=web"))
        .toMatch(/Scheduled.*assigned default\/web to node-1.*Started/s);
    });

    test("containers keep running when up is stopped, killed and restarted", async () => {
      const idOf = () =>
        up.kubectl.ok(
          "get pod web -o jsonpath={.status.containerStatuses[0].containerID}:{.status.containerStatuses[0].restartCount}",
        );
      const before = await idOf();
      for (const signal of ["SIGTERM", "SIGKILL"] as const) {
        const code = await up.kill(signal);
        if (signal === "SIGTERM") expect(code).toBe(0);
        up = await startUp(["--data-dir", folder]);
        await up.kubectl.ok("wait --for=condition=Ready pod/web --timeout=60s");
        expect(await idOf()).toBe(before);
        expect(await up.kubectl.ok("exec web -- echo still here")).toBe("still here\n");
      }
    });

    test("a deleted pod leaves nothing behind", async () => {
      await up.kubectl.ok("delete pod web --timeout=60s");
      expect(await up.kubectl.ok("get pods")).toBe("");
    });
  });

  describe("with simulated nodes", () => {
    const folder = temporaryFolder();
    let up: UpProcess;

    beforeAll(async () => {
      up = await startUp([
        "--data-dir",
        folder,
        "--store",
        "memory",
        "--runtime",
        "simulated",
        "--nodes",
        "20",
      ]);
    });
    afterAll(async () => {
      await up?.kill("SIGTERM");
    });

    test("pods spread over them", async () => {
      const { kubectl } = up;
      expect((await kubectl.ok("get nodes --no-headers")).trim().split("\n")).toHaveLength(20);
      const items = Array.from({ length: 20 }, (_, i) => JSON.parse(pod(`p${i}`, "true")));
      await kubectl.ok("apply -f -", { input: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
      await kubectl.ok("wait --for=condition=Ready pods --all --timeout=60s");
      const nodes = (await kubectl.ok("get pods -o jsonpath={.items[*].spec.nodeName}")).split(" ");
      expect(new Set(nodes).size).toBeGreaterThan(10);
    });
  });
});

describe("wrong usage prints one sentence and exits with code 2", () => {
  test.each([
    { args: ["--nodes", "3"], says: "--nodes 3 needs --runtime simulated" },
    { args: ["--nodes", "none"], says: "must be a whole number from 1 to 5000" },
    { args: ["--runtime", "docker"], says: "must be auto, oci, host, simulated or unix:///path/to/cri.sock" },
  ])("$args", async ({ args, says }) => {
    const run = await runKindling(["up", "--data-dir", "/nonexistent/kindling", ...args]);
    expect(await run.exit).toBe(2);
    expect(run.output.stderr).toContain(says);
  });
});

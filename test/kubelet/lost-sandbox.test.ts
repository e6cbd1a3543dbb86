import { expect, test } from "vitest";
import type { Pod } from "../../src/api/meta/objects.ts";
import { describeEachDriver } from "../support/cri/cri-drivers.ts";
import { shell, useRuntimeNode } from "../support/node/runtime-node.ts";
import { isReady } from "../support/node/simulated-node.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const containers = [shell("while :; do sleep 0.1; done")];

describeWithTool("busybox", "a pod on our runtime", () => {
  describeEachDriver((driver) => {
    const host = useRuntimeNode({
      driver,
      config: { shutdownGracePeriod: "60s", shutdownGracePeriodCriticalPods: "10s" },
    });
    const sandboxesOf = async ({ metadata }: Pod) => {
      const { items } = await host.runtime.client.runtime.listPodSandbox({ filter: undefined });
      return items.filter((sandbox) => sandbox.metadata?.uid === metadata.uid);
    };

    test("is not in a crash loop because its sandbox was lost, however often", async () => {
      const { node, runtime } = host;
      await node.run("web", { containers, terminationGracePeriodSeconds: 0 });
      let pod = await node.until("web", isReady);
      const history = await node.follow("web");
      for (const count of [1, 2, 3]) {
        for (const { id } of await sandboxesOf(pod))
          await runtime.client.runtime.stopPodSandbox({ podSandboxId: id });
        const again = ({ status }: Pod) => status?.containerStatuses?.[0]?.restartCount === count;
        pod = await node.until("web", (next) => again(next) && isReady(next));
      }
      await history.stop();
      const reasons = history.versions.map(
        ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason,
      );
      expect(reasons).not.toContain("CrashLoopBackOff");
      const { items } = await node.client.list("events", { namespace: "default" });
      expect(items.map(({ reason }) => reason)).not.toContain("BackOff");
    });

    test("ends within its own grace period in a node shutdown, which is longer", async () => {
      const { node } = host;
      await node.run("short", {
        containers: [shell("trap '' TERM; while :; do sleep 0.1; done")],
        terminationGracePeriodSeconds: 1,
      });
      await node.until("short", isReady);
      const begun = performance.now();
      await node.shutDown();
      expect(performance.now() - begun).toBeLessThan(20_000);
      expect((await node.get("short"))?.status?.reason).toBe("Terminated");
    });
  });
});

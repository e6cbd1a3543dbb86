import { expect, test } from "vitest";
import type { Pod } from "../../src/api/meta/objects.ts";
import { describeEachDriver } from "../support/cri/cri-drivers.ts";
import { busyboxImage } from "../support/cri/cri-runtime.ts";
import { shell, useRuntimeNode } from "../support/node/runtime-node.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const randomId = /[0-9a-f]{32}|kdl[0-9a-f]{12}|\/proc\/\d+\//;

describeWithTool("busybox", "a failure that repeats", () => {
  describeEachDriver((driver) => {
    const host = useRuntimeNode({ driver });
    const eventsOf = async (name: string) => {
      const { items } = await host.node.client.list("events", { namespace: "default" });
      return items.filter((event) => event.involvedObject?.name === name && event.type === "Warning");
    };

    test.each([
      ["a missing binary", { name: "c", image: busyboxImage, command: ["/missing"] }],
      ["a missing working directory", shell("sleep 100", { workingDir: "/etc/passwd" })],
      [
        "a hook that cannot run",
        shell("sleep 100", { lifecycle: { postStart: { exec: { command: ["/missing"] } } } }),
      ],
    ])("has one event without random IDs: %s", { timeout: 60_000 }, async (why, container) => {
      const { node } = host;
      const name = why.replaceAll(" ", "-");
      await node.run(name, { containers: [container], terminationGracePeriodSeconds: 0 });
      await expect
        .poll(async () => (await eventsOf(name)).some(({ count = 1 }) => count > 1), { timeout: 30_000 })
        .toBe(true);
      const isWaiting = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.waiting !== undefined;
      const pod = await node.until(name, isWaiting);
      const events = await eventsOf(name);
      const texts = events.map(({ reason, message }) => `${reason}: ${message}`);
      expect(new Set(texts).size).toBe(texts.length);
      const { conditions = [], containerStatuses = [] } = pod.status ?? {};
      const messages = [
        ...texts,
        ...conditions.map(({ message }) => message),
        ...containerStatuses.flatMap(({ state, lastState }) => [
          state?.waiting?.message,
          lastState?.terminated?.message,
        ]),
      ];
      for (const message of messages) expect(message ?? "").not.toMatch(randomId);
    });
  });
});

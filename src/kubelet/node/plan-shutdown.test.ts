import { expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { planShutdown } from "./plan-shutdown.ts";

const pod = (name: string, priority?: number): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { containers: [], ...(priority !== undefined && { priority }) },
});

test.each([
  { name: "nobody", pods: [], waves: [] },
  {
    name: "ordinary pods have all but the critical part",
    pods: [pod("a"), pod("b", 5)],
    waves: [["a b", 20]],
  },
  { name: "critical pods have theirs", pods: [pod("c", 2_000_001_000)], waves: [["c", 10]] },
  {
    name: "one after the other",
    pods: [pod("c", 2_000_000_000), pod("a")],
    waves: [
      ["a", 20],
      ["c", 10],
    ],
  },
])("$name", ({ pods, waves }) => {
  const times = { shutdownGracePeriodMs: 30_000, shutdownGracePeriodCriticalPodsMs: 10_000 };
  const planned = planShutdown(pods, times).map((wave) => [
    wave.pods.map(({ metadata }) => metadata.name).join(" "),
    wave.graceSeconds,
  ]);
  expect(planned).toEqual(waves);
});

import { expect, test } from "vitest";
import { isReady, useSimulatedNode } from "../../support/node/simulated-node.ts";
import { runKindling } from "../../support/programs/run-kindling.ts";

const parts = useSimulatedNode({ runtime: { imagesPresent: false }, config: { address: "0.0.0.0" } });
const withBudget = (failureThreshold: number) => ({
  containers: [
    {
      name: "c",
      image: "slow:1",
      startupProbe: { exec: { command: ["check"] }, periodSeconds: 1, failureThreshold },
    },
  ],
});
const ofWorkload = (name: string) => ({
  ownerReferences: [{ apiVersion: "apps/v1", kind: "StatefulSet", name, uid: name, controller: true }],
});

async function why(name: string): Promise<Record<string, string>> {
  const { kubeconfig } = parts.node.server;
  const run = await runKindling(["why", name, "--kubeconfig", kubeconfig, "-o", "json"]);
  await run.exit;
  return JSON.parse(run.output.stdout);
}

test("950-9 `kindling why` shows the used startup budget and recommends a larger one from starts of the same workload", async () => {
  const { node, simulated } = parts;
  for (const name of ["web-0", "web-1", "web-2"]) {
    await node.run(name, withBudget(6_000), ofWorkload("web"));
    await node.until(name, isReady);
  }
  const exec = () => ({ exitCode: 1, stdout: "not yet" });
  for (const pod of ["web-3", "web-4", "api-0"]) simulated.rules.add({ match: { pod }, container: { exec } });
  await node.run("web-3", withBudget(6_000), ofWorkload("web"));
  await node.run("web-4", withBudget(29), ofWorkload("web"));
  await node.run("api-0", withBudget(29), ofWorkload("api"));
  for (const name of ["web-3", "web-4", "api-0"]) {
    await node.untilEvent(name, /^Startup probe failed: not yet/);
  }

  const tight = await why("web-4");
  expect(tight.fix).toMatch(
    /^if it needs longer, give container c a startupProbe with periodSeconds: 1 and failureThreshold: 31 \(3 starts took /,
  );
  expect(tight.advice).toMatchObject([{ container: "c", failureThreshold: 31 }]);
  const generous = await why("web-3");
  expect(generous).toMatchObject({
    stage: "starting",
    because: expect.stringMatching(
      /^Container c is running and its startup probe has not succeeded yet: \d+ of 6000 failures, at most \d+ s left; Startup probe failed: not yet\.$/,
    ),
    healsWhen: expect.stringMatching(
      /^when the probe succeeds; otherwise .* restarted in \d+ s at the latest$/,
    ),
    fix: expect.stringMatching(/^if it needs longer, raise startupProbe.failureThreshold\b/),
  });
  expect(generous).not.toHaveProperty("advice");
  expect(await why("api-0")).not.toHaveProperty("advice");
});

import { expect, test } from "vitest";
import { runKindling } from "../../support/run-kindling.ts";
import { isReady } from "../../support/simulated-node.ts";
import { useWhyNode } from "../../support/why-node.ts";

const parts = useWhyNode();
const startupProbe = { exec: { command: ["check"] }, periodSeconds: 1, failureThreshold: 6000 };
const spec = { containers: [{ name: "c", image: "slow:1", startupProbe }] };

async function why(name: string): Promise<Record<string, string>> {
  const { kubeconfig } = parts.node.server;
  const run = await runKindling(["why", name, "--kubeconfig", kubeconfig, "-o", "json"]);
  await run.exit;
  return JSON.parse(run.output.stdout);
}

test("`kindling why` tells how much of the startup budget is used and, from starts that were seen, what would fit", async () => {
  const { node, simulated } = parts;
  simulated.rules.add({
    match: { pod: "stuck" },
    container: { exec: () => ({ exitCode: 1, stdout: "not yet" }) },
  });
  await node.run("stuck", spec);
  await node.untilEvent("stuck", /^Startup probe failed: not yet/);
  const alone = await why("stuck");
  expect(alone).toMatchObject({
    stage: "starting",
    because: expect.stringMatching(
      /^Container c runs and its startup probe has not succeeded yet: \d+ of 6000 failures, at most \d+ s left; Startup probe failed: not yet\.$/,
    ),
    healsWhen: expect.stringMatching(
      /^when the probe succeeds; else .* started again in \d+ s at the latest$/,
    ),
    fix: "if it needs longer, raise startupProbe.failureThreshold; its log: kubectl logs stuck -c c",
  });
  expect(alone).not.toHaveProperty("advice");

  for (const name of ["first", "second", "third"]) {
    await node.run(name, spec);
    await node.until(name, isReady);
  }
  const { fix, advice } = await why("stuck");
  expect(fix).toMatch(
    /^if it needs longer, give container c a startupProbe with periodSeconds: \d+ and failureThreshold: \d+ \(3 starts took /,
  );
  expect(advice).toMatchObject([{ container: "c", failureThreshold: expect.any(Number) }]);
});

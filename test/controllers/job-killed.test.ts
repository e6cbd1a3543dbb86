import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { isTrue } from "../../src/api/meta/object-facts.ts";
import { useCluster } from "../support/cluster/use-cluster.ts";
import { rounds } from "../support/fuzz/rounds.ts";
import { makeJob } from "../support/manifests/job.ts";
import { runKindling } from "../support/programs/run-kindling.ts";

const cluster = useCluster({ controllers: false });
const completions = 20;

test("a Job counts each pod once while its controller manager is killed again and again", async ({
  onTestFinished,
}) => {
  const created = new Set<string>();
  const following = await cluster.follow("pods", { labelSelector: "app=killed" }, ({ object }) => {
    created.add(object.metadata.uid ?? "");
  });
  onTestFinished(() => following.stop());
  await cluster.client.create("jobs", makeJob("killed", { completions, parallelism: 4 }));
  const getJob = () => cluster.client.get("jobs", { namespace: "default", name: "killed" });

  for (let kills = 0; ; kills++) {
    const flags = ["--no-leader-elect", "--controllers", "job-controller"];
    const run = await runKindling([
      "controller-manager",
      "--kubeconfig",
      cluster.server.kubeconfig,
      ...flags,
    ]);
    onTestFinished(() => void run.child.kill("SIGKILL"));
    await expect.poll(() => run.output.stdout).toContain("controllers are running");
    const isLast = kills >= rounds(2);
    // Any moment is good: the point is that it is not known what the controller is doing.
    if (!isLast) await delay(Math.random() * 400);
    else await expect.poll(async () => isTrue(await getJob(), "Complete")).toBe(true);
    run.child.kill("SIGKILL");
    await run.exit;
    if (isLast) break;
  }
  const { status } = await getJob();
  expect(status).toMatchObject({ succeeded: completions, uncountedTerminatedPods: {} });
  expect(status?.failed).toBeUndefined();
  await expect.poll(() => created.size).toBe(completions);
});

import { expect, test } from "vitest";
import { useStatefulSetCluster } from "../support/cluster/stateful-set-cluster.ts";
import { makeDeployment } from "../support/manifests/workload.ts";
import { type KindlingRun, runKindling } from "../support/programs/run-kindling.ts";

const cluster = useStatefulSetCluster();
const enforced = { updateStrategy: { type: "EnforcedRollingUpdate" } };

const status = (...args: readonly string[]) =>
  runKindling(["rollout", "status", "--kubeconfig", cluster.server.kubeconfig, ...args]);

async function ended(run: KindlingRun) {
  return { code: await run.exit, ...run.output };
}

test("3541-12 kindling rollout status follows an EnforcedRollingUpdate in plain lines and exits with 0", async () => {
  await cluster.create("live", { spec: enforced });
  const run = await status("statefulset/live", "--timeout", "4m");
  const { code, stdout, stderr } = await ended(run);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const lines = stdout.trimEnd().split("\n");
  expect(lines.at(-1)).toMatch(/^statefulset "live" successfully rolled out: 3 pods run live-\w+$/);
  expect(new Set(lines).size).toBe(lines.length);
  expect(stdout).not.toContain("\u001b");
});

test("3541-12 exits with 1 when the deadline is exceeded, and names the pod", async () => {
  await cluster.create("late", { image: "Broken:1", spec: enforced, replicas: 1 });
  const run = await status("sts/late");
  await expect
    .poll(() => run.output.stdout, { timeout: 60_000 })
    .toContain("1 of 1 pods updated, 0 available: pod late-0 blocks the rollout: ");
  const annotations = { "kindling.dev/progress-deadline-seconds": "2" };
  await cluster.patch("late", { metadata: { annotations } });
  const { code, stderr } = await ended(run);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^kindling: StatefulSet "late" has timed out progressing: no progress for 2 s; pod late-0: .*invalid reference format.*\n$/,
  );
});

test("--watch=false prints the state once; --timeout ends the wait; a missing workload is an error", async () => {
  await cluster.create("once", { image: "Broken:1", replicas: 1 });
  await cluster.untilPicture("once", ["once-0=Broken:1 waiting"]);
  const once = await ended(await status("statefulset.apps/once", "--watch=false"));
  expect(once).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[^\n]+\n$/) });
  const timedOut = await ended(await status("statefulset/once", "--timeout", "1s"));
  expect(timedOut).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^kindling: timed out after 1s \(--timeout\): 1 of 1 pods updated/),
  });
  expect(await ended(await status("statefulset/none"))).toMatchObject({
    code: 1,
    stderr: "kindling: there is no statefulset none in the namespace default\n",
  });
});

test("a Deployment is followed as by kubectl rollout status", async () => {
  const pod = { nodeName: cluster.node.name };
  await cluster.client.create("deployments", makeDeployment("side", { replicas: 2, pod }));
  const { code, stdout } = await ended(await status("deployment/side", "--timeout", "4m"));
  expect(code).toBe(0);
  expect(stdout).toMatch(/(^|\n)deployment "side" successfully rolled out\n$/);
});

test.each([
  [["pod/web"], "pod/web: name a workload as statefulset/NAME or deployment/NAME"],
  [["web"], "web: name a workload as statefulset/NAME or deployment/NAME"],
  [["statefulset/web", "--watch=maybe"], "--watch must be true or false"],
  [["statefulset/web", "--timeout", "soon"], "must be a duration such as 90s or 10m"],
])("3541-12 exits with 2 for %j", async (args, message) => {
  const { code, stderr } = await ended(await status(...args));
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

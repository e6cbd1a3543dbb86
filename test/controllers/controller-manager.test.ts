import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { useStatefulSetCluster } from "../support/cluster/stateful-set-cluster.ts";
import { rounds } from "../support/fuzz/rounds.ts";
import { type KindlingRun, runKindling } from "../support/programs/run-kindling.ts";

const cluster = useStatefulSetCluster({ controllers: false });
const started = new Set<KindlingRun>();
afterAll(() => {
  for (const run of started) run.child.kill("SIGKILL");
});

async function start(...flags: string[]): Promise<KindlingRun> {
  const run = await runKindling(["controller-manager", "--kubeconfig", cluster.server.kubeconfig, ...flags]);
  started.add(run);
  void run.exit.then(() => started.delete(run));
  return run;
}

async function end(run: KindlingRun, signal: "SIGKILL" | "SIGTERM"): Promise<number | null> {
  run.child.kill(signal);
  return run.exit;
}

const isWorking = (run: KindlingRun) => run.output.stdout.includes("controllers are running");

test("3541-8 kill -9 at random during rollouts: one pod of an identity at a time, and the rollout ends", async () => {
  await cluster.create("killed", { spec: { updateStrategy: { type: "EnforcedRollingUpdate" } } });
  // Long enough to see one that does not wait for the end of the other.
  cluster.simulated.rules.add({ match: { pod: "killed-*" }, container: { stopDelayMs: 500 } });
  const all = (image: string) => [0, 1, 2].map((ordinal) => `killed-${ordinal}=${image} ready`);
  // There is something to replace, however early the others are killed.
  const first = await start("--no-leader-elect");
  await cluster.untilPicture("killed", all("web:1"));
  await end(first, "SIGKILL");
  const log = await cluster.followPods("killed");
  const kills = 1 + rounds(1);
  for (let round = 0; round < kills; round++) {
    await cluster.setImage("killed", round % 2 === 0 ? `web:${round}` : `Broken:${round}`);
    const run = await start("--no-leader-elect");
    await cluster.until("it works", async () => isWorking(run));
    await delay(Math.random() * 400);
    await end(run, "SIGKILL");
  }
  await cluster.setImage("killed", "web:last");
  const last = await start("--no-leader-elect");
  await cluster.untilPicture("killed", all("web:last"));
  expect(await end(last, "SIGTERM")).toBe(0);
  await log.stop();
  expect(log.lines.filter((line) => line.startsWith("two"))).toEqual([]);
});

test("one of two managers is active, and the other takes over when it stops", async () => {
  const [first, second] = [await start(), await start()];
  await cluster.until("one works", async () => isWorking(first) || isWorking(second));
  const [leader, other] = isWorking(first) ? [first, second] : [second, first];
  await delay(1_000);
  expect(isWorking(other)).toBe(false);
  const lease = () =>
    cluster.client.get("leases", { namespace: "kube-system", name: "kube-controller-manager" });
  const holder = (await lease()).spec?.holderIdentity;

  expect(await end(leader, "SIGTERM")).toBe(0);
  await cluster.until("the other works", async () => isWorking(other));
  expect((await lease()).spec?.holderIdentity).not.toBe(holder);
  await cluster.create("led", { replicas: 1 });
  await cluster.untilPicture("led", ["led-0=web:1 ready"]);
  expect(await end(other, "SIGTERM")).toBe(0);
});

test("the second of two managers continues the rollout of a killed one when its lease expires", async () => {
  const [first, second] = [await start(), await start()];
  await cluster.until("one works", async () => isWorking(first) || isWorking(second));
  const [leader, other] = isWorking(first) ? [first, second] : [second, first];
  const all = (image: string) => [0, 1, 2].map((ordinal) => `passed-on-${ordinal}=${image} ready`);
  await cluster.create("passed-on", {});
  await cluster.untilPicture("passed-on", all("web:1"));
  const log = await cluster.followPods("passed-on");
  await cluster.setImage("passed-on", "web:2");
  await cluster.until("the rollout begins", async () => log.lines.includes("-passed-on-2=web:1"));
  await end(leader, "SIGKILL");
  expect(isWorking(other)).toBe(false);
  await cluster.until("the other works", async () => isWorking(other), 60_000);
  await cluster.untilPicture("passed-on", all("web:2"));
  await log.stop();
  expect(log.lines.filter((line) => line.startsWith("two"))).toEqual([]);
  expect(await end(other, "SIGTERM")).toBe(0);
});

test("a dry run logs its actions and holds no lease", async () => {
  const before = (
    await cluster.client.get("leases", { namespace: "kube-system", name: "kube-controller-manager" })
  ).spec;
  await cluster.create("imagined", { replicas: 1 });
  const run = await start("--dry-run");
  await cluster.until("it says so", async () => /would create.*imagined-0/.test(run.output.stderr));
  expect(await end(run, "SIGTERM")).toBe(0);
  expect(await cluster.picture("imagined")).toEqual([]);
  expect(
    (await cluster.client.get("leases", { namespace: "kube-system", name: "kube-controller-manager" })).spec,
  ).toEqual(before);
});

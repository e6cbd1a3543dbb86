import { afterEach, expect, test } from "vitest";
import type { Lease, ReplicaSet } from "../../src/api/meta/objects.ts";
import { startCluster } from "../../src/testing/start-cluster.ts";
import { useStatefulSetCluster } from "../support/cluster/stateful-set-cluster.ts";
import { type KindlingRun, runKindling } from "../support/programs/run-kindling.ts";

const name = "kube-controller-manager";
const refusal = `holds the lease kube-system/${name}`;
const cluster = useStatefulSetCluster({ controllers: false });
const started: KindlingRun[] = [];
let renewing: NodeJS.Timeout | undefined;

afterEach(async () => {
  clearInterval(renewing);
  for (const { child, exit } of started.splice(0)) {
    child.kill("SIGKILL");
    await exit;
  }
  await cluster.client.deleteCollection("leases", { namespace: "kube-system" });
});

async function start(...flags: string[]): Promise<KindlingRun> {
  const run = await runKindling(["controller-manager", "--kubeconfig", cluster.server.kubeconfig, ...flags]);
  started.push(run);
  return run;
}

const isWorking = ({ output }: KindlingRun) => output.stdout.includes("controllers are running");
const says = (run: KindlingRun, text: string) => expect.poll(() => run.output.stderr).toContain(text);

/** Another controller manager, whose clock is years behind, takes the lease and renews it. Returns what stops that. */
async function holdLease(holderIdentity: string): Promise<() => void> {
  let renewals = 0;
  const spec = () => ({
    holderIdentity,
    leaseDurationSeconds: 3,
    renewTime: `1999-01-01T00:00:00.${String(renewals++).padStart(6, "0")}Z`,
  });
  const metadata = { name, namespace: "kube-system" };
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata };
  await cluster.client.create("leases", { ...lease, spec: spec() } as unknown as Lease);
  const renew = () =>
    cluster.client
      .patch("leases", metadata, { patch: { kind: "merge", body: { spec: spec() } } })
      .catch(() => {});
  renewing = setInterval(renew, 300);
  return () => clearInterval(renewing);
}

test.each([
  ["with its own lease", ["--leader-elect-lease", "mine"]],
  ["without leader election", ["--no-leader-elect"]],
  ["with upstream's lease", []],
])(
  "%s, no controller runs while another controller manager renews upstream's lease, and all do when it stops",
  async (how, flags) => {
    const stopRenewing = await holdLease("upstream_1");
    const set = how.replaceAll(/[^a-z]/g, "-");
    await cluster.create(set, { replicas: 1 });
    const run = await start(...flags);
    await says(run, `controllers do not run: upstream_1 ${refusal}`);
    expect(run.output.stderr).toContain("--ignore-upstream-lease");
    // 15 renewals take longer than the lease lasts; the time in the lease is ignored.
    const renewTime = async () =>
      (await cluster.client.get("leases", { namespace: "kube-system", name })).spec?.renewTime;
    await expect.poll(renewTime).toEqual(expect.stringMatching(/0000(?:1[5-9]|[2-9]\d)Z$/));
    expect([isWorking(run), await cluster.picture(set)]).toEqual([false, []]);
    stopRenewing();
    await cluster.untilPicture(set, [`${set}-0=web:1 ready`]);
  },
);

test("controllers that run without leader election stop when another controller manager takes upstream's lease", async () => {
  const run = await start("--no-leader-elect");
  await cluster.create("before", { replicas: 1 });
  await cluster.untilPicture("before", ["before-0=web:1 ready"]);
  const stopRenewing = await holdLease("upstream_2");
  await says(run, `controllers do not run: upstream_2 ${refusal}`);
  await cluster.create("after", { replicas: 1 });
  stopRenewing();
  await cluster.untilPicture("after", ["after-0=web:1 ready"]);
});

test("--ignore-upstream-lease starts the controllers at once, and only one of two such managers is active", async () => {
  await holdLease("upstream_3");
  await cluster.create("forced", { replicas: 1 });
  const first = await start("--ignore-upstream-lease");
  await cluster.untilPicture("forced", ["forced-0=web:1 ready"]);
  expect(first.output.stderr).not.toContain(refusal);
  const second = await start("--ignore-upstream-lease");
  await says(second, "holds the lease kube-system/kindling-controller-manager");
  expect(isWorking(second)).toBe(false);
});

test("of two controller managers with different leases one works", async () => {
  const first = await start("--leader-elect-lease", "one");
  await expect.poll(() => isWorking(first)).toBe(true);
  const second = await start("--leader-elect-lease", "two");
  await says(second, refusal);
  expect(isWorking(second)).toBe(false);
});

test("a controller manager beside a cluster that has its own controllers waits", async () => {
  await using alone = await startCluster();
  await expect
    .poll(() => alone.client.get("leases", { namespace: "kube-system", name }).catch(() => undefined))
    .toBeDefined();
  const run = await runKindling([
    "controller-manager",
    "--kubeconfig",
    alone.kubeconfig,
    "--no-leader-elect",
  ]);
  started.push(run);
  await says(run, refusal);
  expect(isWorking(run)).toBe(false);
});

test("--controllers '*,-statefulset-controller' leaves StatefulSets alone and runs the others", async () => {
  await cluster.create("left-alone", { replicas: 1 });
  await start("--no-leader-elect", "--controllers", "*,-statefulset-controller");
  const { metadata, ...set } = await cluster.get("left-alone");
  const labels = { app: "replicated" };
  const template = { ...set.spec?.template, metadata: { labels } };
  await cluster.client.create("replicasets", {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: "replicated", namespace: "default" },
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  } as ReplicaSet);
  await cluster.until("its pod is there", async () => (await cluster.pods("replicated")).length === 1);
  expect(await cluster.picture("left-alone")).toEqual([]);
  expect((await cluster.get("left-alone")).status?.observedGeneration).toBeUndefined();
  await start("--ignore-upstream-lease", "--controllers", "statefulset");
  await cluster.untilPicture("left-alone", ["left-alone-0=web:1 ready"]);
});

test("an unknown controller name is rejected with the list of known ones", async () => {
  const run = await start("--controllers", "*,-statefulsets");
  expect(await run.exit).toBe(2);
  expect(run.output.stderr).toMatch(/"statefulsets" is not a controller.*deployment-controller/s);
});

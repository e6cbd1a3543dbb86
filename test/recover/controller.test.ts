import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster, createClient } from "../../src/client/api/create-client.ts";
import { createEventRecorder } from "../../src/client/events/event-recorder.ts";
import { loadKubeconfig } from "../../src/client/kubeconfig/cluster-access.ts";
import { createHttpTransport } from "../../src/client/transport/http-transport.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createMetrics } from "../../src/lib/metrics/metrics.ts";
import { evictPod } from "../../src/recover/evict-pod.ts";
import { parseRecord, pruneRecord, recoverLease } from "../../src/recover/eviction-record.ts";
import { runRecoverController } from "../../src/recover/recover-controller.ts";
import { breakages } from "../support/cluster/breakages.ts";
import { writeExampleKubeconfig } from "../support/cluster/example-access.ts";
import {
  brokenImage,
  createBroken,
  readyPods,
  useStatefulSetCluster,
} from "../support/cluster/stateful-set-cluster.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { describeWithTool, toolPath } from "../support/programs/tools.ts";

const cluster = useStatefulSetCluster();
const folder = temporaryFolder();
const namespace = "default";
const manifest = "examples/recover/rbac.yaml";
const rollingUpdate = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } } };
const unstick = "kindling.dev/unstick";

/** Kubeconfig of the service account in examples/recover/rbac.yaml. */
let kubeconfig: string;
let client: Client;
const metrics = createMetrics();
const stop = new AbortController();
let running: Promise<unknown>;

beforeAll(async () => {
  kubeconfig = await writeExampleKubeconfig({
    admin: cluster.client,
    kubeconfig: cluster.server.kubeconfig,
    manifest,
    path: join(folder, "kubeconfig"),
  });
  client = await connectCluster({ kubeconfig });
  const parts = { client, clock: systemClock, logger: silentLogger };
  const recorder = createEventRecorder({ ...parts, component: "kindling-recover" });
  running = Promise.all([
    recorder.run(stop.signal),
    runRecoverController({ ...parts, recorder, metrics, graceMs: 300 }, stop.signal),
  ]);
});
afterAll(async () => {
  stop.abort();
  await running;
  client.close();
});

/** Creates a set that is stuck: its template is fixed, and RollingUpdate waits for the broken pod. */
async function createStuck(name: string, annotations: Readonly<Record<string, string>> = {}): Promise<void> {
  await createBroken(cluster, name, { spec: rollingUpdate });
  await cluster.patch(name, { metadata: { annotations } });
  await cluster.setImage(name, "web:2");
  await cluster.until("the controller observes the fixed template", async () => {
    const { metadata, status } = await cluster.get(name);
    return status?.observedGeneration === metadata.generation;
  });
}

const stuckMetric = (policy: string) =>
  metrics
    .text()
    .split("\n")
    .find((line) => line.startsWith("kindling_statefulsets_stuck") && line.includes(`policy="${policy}"`));

describe("3541-13 kindling recover --controller, with only the rights of its example", () => {
  test("recovers a set whose annotation allows it, and records events on set and pod", async () => {
    await createStuck("allowed", { [unstick]: "always" });
    await cluster.untilPicture("allowed", readyPods("allowed", 3, "web:2"));
    await expect
      .poll(() => cluster.messages("StatefulSet", "allowed"))
      .toContainEqual(expect.stringMatching(/^PodEvictedToRecover: Evicted pod allowed-2 so that/));
    expect(await cluster.messages("Pod", "allowed-2")).toContainEqual(
      expect.stringMatching(
        /^EvictedToRecover: Evicting the pod so that StatefulSet allowed creates it from/,
      ),
    );
    expect(metrics.text()).toMatch(
      /^kindling_recoveries_total\{outcome="evicted",reason="InvalidImageName"\} 1$/m,
    );
  });

  test("does not change a set without a policy, and counts it as stuck", async () => {
    await createStuck("unset");
    await expect.poll(() => stuckMetric("none")).toMatch(/ 1$/);
    const [, , broken] = await cluster.pods("unset");
    expect(broken?.spec?.containers[0]?.image).toBe(brokenImage);
    // The label of the namespace is a policy too.
    await cluster.client.patch(
      "namespaces",
      { name: namespace },
      { patch: { kind: "merge", body: { metadata: { labels: { [unstick]: "permanent-only" } } } } },
    );
    await cluster.untilPicture("unset", readyPods("unset", 3, "web:2"));
    await cluster.client.patch(
      "namespaces",
      { name: namespace },
      { patch: { kind: "merge", body: { metadata: { labels: { [unstick]: null } } } } },
    );
    await expect.poll(() => stuckMetric("none")).toBeUndefined();
  });

  test("treats an unknown policy as never and records an event", async () => {
    await createStuck("typo", { [unstick]: "allways" });
    await expect
      .poll(() => cluster.messages("StatefulSet", "typo"))
      .toContainEqual(expect.stringMatching(/^InvalidUnstickPolicy: annotation .* unknown value "allways"/));
    expect((await cluster.picture("typo"))[2]).toBe(`typo-2=${brokenImage} waiting`);
  });

  test("waits for a PodDisruptionBudget that does not allow the eviction", async () => {
    await cluster.create("guarded", { spec: rollingUpdate });
    await cluster.untilPicture("guarded", readyPods("guarded", 3));
    const budget = { namespace, name: "guarded" };
    await cluster.client.create("poddisruptionbudgets", {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: budget,
      spec: { minAvailable: 3, selector: { matchLabels: { app: "guarded" } } },
    });
    const good = (await cluster.get("guarded")).spec?.template;
    const [, , { annotations, spec } = {}] = breakages.find(([what]) => what === "crashes") ?? [];
    await cluster.patch("guarded", { spec: { template: { metadata: { annotations }, spec } } });
    const isCrashing = async () => (await cluster.pods("guarded"))[2]?.status?.phase === "Running";
    await cluster.until("the last pod crashes", async () => {
      const status = (await cluster.pods("guarded"))[2]?.status?.containerStatuses?.[0];
      return (status?.restartCount ?? 0) > 0 && (await isCrashing());
    });
    await cluster.client.patch("statefulsets", budget, {
      patch: { kind: "json", body: [{ op: "replace", path: "/spec/template", value: good }] },
    });
    await cluster.patch("guarded", { metadata: { annotations: { [unstick]: "always" } } });
    await expect
      .poll(() => cluster.messages("StatefulSet", "guarded"), { timeout: 30_000 })
      .toContainEqual(expect.stringMatching(/^RecoveryBlocked: Pod guarded-2 cannot be evicted now/));
    expect(metrics.text()).toMatch(/kindling_recoveries_total\{outcome="blocked"/);
    await cluster.client.delete("poddisruptionbudgets", budget);
    await cluster.untilPicture("guarded", readyPods("guarded", 3));
  });

  test("does not evict an ordinal twice for one update revision", async () => {
    await createStuck("twice", { [unstick]: "never" });
    const [set, pods] = [await cluster.get("twice"), await cluster.pods("twice")];
    const pod = pods[2];
    if (!pod) throw new Error("the set has no third pod");
    const request = { set, reason: "Test", because: "the test says so", now: Date.now() };
    const predecessor = { ...pod, metadata: { ...pod.metadata, uid: "another" } };
    expect(await evictPod(client, { ...request, pod: predecessor }, stop.signal)).toEqual({
      kind: "changed",
    });
    // The record of that eviction is a veto against another pod, and none against the same one after a crash. It does not
    // expire with the event.
    await cluster.client.deleteCollection("events", { namespace });
    expect(await evictPod(client, { ...request, pod }, stop.signal)).toEqual({ kind: "repeated" });
    expect(await evictPod(client, { ...request, pod: predecessor }, stop.signal)).toEqual({
      kind: "changed",
    });
  });

  test("removes evictions from the record once the set moves on or is deleted", async () => {
    const recordedSets = async () =>
      Object.keys(parseRecord(await cluster.client.get("leases", recoverLease))).map(
        (key) => key.split("/")[1],
      );
    const prune = () => pruneRecord(client, () => undefined, stop.signal);
    for (const name of ["moved", "deleted", "waiting"]) {
      await createStuck(name, { [unstick]: "never" });
      const [set, [, , pod]] = [await cluster.get(name), await cluster.pods(name)];
      if (!pod) throw new Error("the set has no third pod");
      const gone = { ...pod, metadata: { ...pod.metadata, uid: "another" } };
      await evictPod(client, { set, pod: gone, reason: "Test", because: "", now: Date.now() }, stop.signal);
    }
    await prune();
    expect(await recordedSets()).toEqual(expect.arrayContaining(["moved", "deleted", "waiting"]));
    await cluster.client.delete("statefulsets", { namespace, name: "deleted" });
    const { updateRevision } = (await cluster.get("moved")).status ?? {};
    await cluster.setImage("moved", "web:3");
    await expect
      .poll(async () => (await cluster.get("moved")).status?.updateRevision)
      .not.toBe(updateRevision);
    await prune();
    expect(await recordedSets()).toContain("waiting");
    expect(await recordedSets()).not.toContain("moved");
    expect(await recordedSets()).not.toContain("deleted");
  });

  test("evicts for a user without access to the lease, and says that the record expires", async () => {
    await createStuck("developed", { [unstick]: "never" });
    await cluster.client.create("rolebindings", {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "developer", namespace },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "developer" }],
    });
    const access = {
      ...(await loadKubeconfig(cluster.server.kubeconfig)),
      impersonation: { user: "developer" },
    };
    const developer = createClient({ transport: createHttpTransport({ access }) });
    onTestFinished(() => developer.close());
    const evict = async () => {
      const [set, [, , pod]] = [await cluster.get("developed"), await cluster.pods("developed")];
      if (!pod) throw new Error("the set has no third pod");
      return evictPod(developer, { set, pod, reason: "Test", because: "", now: Date.now() }, stop.signal);
    };
    await expect.poll(evict).toMatchObject({
      kind: "evicted",
      recordProblem: expect.stringContaining('leases.coordination.k8s.io "kindling-recover" is forbidden'),
    });
  });
});

test("3541-13 the example grants exactly the rights that recover needs", async () => {
  const objects = parseAllDocuments(await readFile(manifest, "utf8")).map((document) => document.toJS());
  const rules = objects.flatMap((object) => object.rules ?? []);
  expect(rules.map(({ resources, verbs }) => [resources, verbs])).toEqual([
    [
      ["pods", "namespaces"],
      ["get", "list", "watch"],
    ],
    [
      ["statefulsets", "controllerrevisions"],
      ["get", "list", "watch"],
    ],
    [["pods/eviction"], ["create"]],
    [["events"], ["create", "patch"]],
    [["leases"], ["get", "update"]],
    [["leases"], ["create"]],
  ]);
});

describeWithTool("promtool", "examples/recover", () => {
  test("3541-13 the alert fires for stuck sets without a policy", async () => {
    const { stdout, stderr } = await promisify(execFile)(
      toolPath("promtool"),
      ["test", "rules", "alerts-test.yml"],
      { cwd: "examples/recover" },
    );
    expect(stdout + stderr).toContain("SUCCESS");
  });
});

describe("3541-13 kindling recover", () => {
  test("continues after kill -9 between the record of an eviction and its end, and evicts once", async () => {
    await createStuck("killed");
    const log = await cluster.followPods("killed");
    const args = ["recover", "statefulset/killed", "--kubeconfig", kubeconfig];
    const first = await runKindling(args);
    const events = await cluster.follow("events", {}, ({ object }) => {
      if (object.reason === "EvictedToRecover" && object.involvedObject.name === "killed-2")
        first.child.kill("SIGKILL");
    });
    await first.exit;
    await events.stop();
    expect(first.output.stdout).not.toContain("Recovered");
    const second = await runKindling(args);
    expect(await second.exit).toBe(0);
    await cluster.untilPicture("killed", readyPods("killed", 3, "web:2"));
    await log.stop();
    expect(log.lines.filter((line) => line === `-killed-2=${brokenImage}`)).toHaveLength(1);
  });

  test("--dry-run explains what it would do and changes nothing", async () => {
    await createStuck("dry");
    const before = await cluster.picture("dry");
    const run = await runKindling(["recover", "statefulset/dry", "--dry-run", "--kubeconfig", kubeconfig]);
    expect(await run.exit).toBe(0);
    expect(run.output.stdout).toMatch(/StatefulSet dry is stuck: pod dry-2 of an older revision blocks/);
    expect(run.output.stdout).toContain("Would evict pod dry-2");
    expect(await cluster.picture("dry")).toEqual(before);
  });

  test("rejects an explicit never", async () => {
    await createStuck("kept", { [unstick]: "never" });
    const run = await runKindling(["recover", "sts/kept", "--kubeconfig", kubeconfig]);
    expect(await run.exit).toBe(1);
    expect(run.output.stdout).toContain("Not evicted: its policy is never");
  });

  test.each([
    [[], "name a StatefulSet"],
    [["deployment/web"], "recover acts on no other kind"],
    [["statefulset/web", "--controller"], "omit the argument or --controller"],
  ])("exits with code 2 for %j", async (args, message) => {
    const run = await runKindling(["recover", ...args]);
    expect(await run.exit).toBe(2);
    expect(run.output.stderr).toContain(message);
  });

  test("--controller holds a lease and stops on SIGTERM", async () => {
    const run = await runKindling(["recover", "--controller", "--kubeconfig", kubeconfig]);
    await expect.poll(() => run.output.stdout).toContain("recover is running");
    const lease = await cluster.client.get("leases", { namespace: "kube-system", name: "kindling-recover" });
    expect(lease.spec?.holderIdentity).toBeTruthy();
    run.child.kill("SIGTERM");
    expect(await run.exit).toBe(0);
  });
});

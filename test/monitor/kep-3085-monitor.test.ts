import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  RuntimeClass,
  Secret,
} from "../../src/api/meta/objects.ts";
import { waterfall } from "../../src/explain/waterfall.ts";
import { secondsOf, untilObserving, useMonitors } from "../support/monitor/running-monitor.ts";
import { condition, containers } from "../support/node/sandbox-condition.ts";
import { isReady, useSimulatedNode } from "../support/node/simulated-node.ts";

// A container whose sandbox was lost twice is not kept waiting for ten seconds.
const fixture = useSimulatedNode({ config: { crashLoopBackOff: { maxContainerRestartPeriod: "1s" } } });
const startMonitorOn = useMonitors();
const startMonitor = (name: string, stuckAfterSeconds?: number) =>
  startMonitorOn(name, { kubeconfig: fixture.node.server.kubeconfig, stuckAfterSeconds });

/** Durations from the conditions of the pod. */
function sandboxSeconds(pod: Pod): number {
  const time = (type: string) => Date.parse(conditionOf(pod, type)?.lastTransitionTime ?? "");
  return (time(condition) - time("PodScheduled")) / 1_000;
}

/** Signals of a start that was observed from its beginning; on a busy machine other stages may be unknown. */
const started = ["stage scheduling", "stage sandbox", "first sandbox", "ready"];

describe("KEP-3085 the monitor, on a real cluster with simulated containers", () => {
  test("3085-12: reports the latency of the first sandbox from the conditions, with the pod's class", async () => {
    const { node, simulated, given } = fixture;
    simulated.handlers.add("microvm");
    await node.client.create("runtimeclasses", {
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      metadata: { name: "microvm" },
      handler: "microvm",
    } as RuntimeClass);
    await bindClaim("data", "slow-disks");
    const { of, signals, monitor } = await startMonitor("classes");
    given({ match: { handler: "microvm" }, sandbox: { delayMs: 2_000 } });
    await node.run(
      "slow",
      {
        containers,
        runtimeClassName: "microvm",
        volumes: [{ name: "d", persistentVolumeClaim: { claimName: "data" } }],
      },
      { labels: { team: "shop", other: "x" } },
    );
    await node.run("quick", { containers });
    const pod = await node.until("slow", isReady);
    await expect.poll(() => of("slow")).toEqual(expect.arrayContaining(started));
    await expect.poll(() => of("quick")).toEqual(expect.arrayContaining(started));
    expect(secondsOf(signals("slow"), "first sandbox")).toBe(sandboxSeconds(pod));
    expect(sandboxSeconds(pod)).toBeGreaterThanOrEqual(1);
    expect(signals("slow")[0]?.start.class).toEqual({
      namespace: "default",
      ownerKind: "Pod",
      ownerName: "slow",
      revision: "",
      runtimeClass: "microvm",
      storageClasses: ["slow-disks"],
      volumes: 1,
      chosen: { team: "shop" },
    });
    expect(signals("quick")[0]?.start.class).toMatchObject({
      runtimeClass: "",
      storageClasses: [],
      chosen: { team: "" },
    });
    expect([...monitor.starting()]).toEqual([]);
    const names = monitor.finished().map(({ pod: { name } }) => name);
    expect(names.toSorted()).toEqual(["quick", "slow"]);
  });

  test("3085-12: a monitor restarted in the middle does not take a recreated sandbox for the first, and reports nothing twice", async () => {
    const { node, simulated, given } = fixture;
    const first = await startMonitor("restarted");
    await node.run("again", { containers });
    const before = await node.until("again", isReady);
    await expect.poll(() => first.of("again")).toEqual(expect.arrayContaining(started));
    await first.stop();

    const outage = given({ match: { pod: "again" }, sandbox: { networkError: "no plugin" } });
    simulated.killSandbox(before.metadata.uid ?? "");
    await node.until("again", (pod) => conditionOf(pod, condition)?.status === "False");
    const second = await startMonitor("restarted");
    simulated.rules.remove(outage);
    await node.until(
      "again",
      (pod) => isReady(pod) && pod.status?.containerStatuses?.[0]?.restartCount === 1,
    );
    await expect.poll(() => second.of("again")).toContain("restart");
    expect(second.of("again").filter((line) => line !== "restart")).toEqual(["sandbox again"]);
    expect(second.monitor.finished().map(({ pod: { name } }) => name)).toEqual(["again"]);
    // The waterfall shows the current start, not the time since the pod was created.
    const recreated = (await node.get("again")) as Pod;
    const spans = waterfall(recreated);
    expect(spans.map(({ name }) => name)).toEqual([
      "volumes and sandbox",
      "images and containers",
      "until ready",
    ]);
    expect(spans[0]?.startMs).toBeGreaterThanOrEqual(
      Date.parse(conditionOf(before, "Ready")?.lastTransitionTime ?? ""),
    );
    expect(spans.every(({ endMs }) => endMs !== undefined)).toBe(true);

    // Over a second restart in which all of it happens: it is known to be a re-creation, its length is not.
    await second.stop();
    const secondTime = conditionOf((await node.get("again")) as Pod, condition)?.lastTransitionTime;
    await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(secondTime ?? "") + 1_000);
    simulated.killSandbox(before.metadata.uid ?? "");
    await node.until("again", (pod) => {
      const { status, lastTransitionTime } = conditionOf(pod, condition) ?? {};
      // Ready: the back-off after the lost sandbox is over, which the monitor would report as a crash loop.
      return isReady(pod) && status === "True" && lastTransitionTime !== secondTime;
    });
    const third = await startMonitor("restarted");
    await expect.poll(() => third.of("again")).toContain("restart");
    expect(third.of("again").filter((line) => line !== "restart")).toEqual(["unknown recreation"]);
  });

  test("3085-12: unobserved times are unknown, and starts from before the monitor are not reported", async () => {
    const { node } = fixture;
    await node.run("early", { containers });
    await node.until("early", isReady);
    // Times have whole seconds: in the next one it is safely the past.
    const nextSecond = (Math.floor(Date.now() / 1_000) + 1) * 1_000;
    await expect.poll(() => Date.now()).toBeGreaterThanOrEqual(nextSecond);
    const first = await startMonitor("away");
    await first.stop();
    await node.run("missed", { containers });
    await node.until("missed", isReady);
    const second = await startMonitor("away");
    await expect
      .poll(() => second.of("missed"))
      .toEqual([
        "stage scheduling",
        "unknown sandbox",
        "unknown containers",
        "unknown readiness",
        "unknown ready",
      ]);
    expect([...first.of("early"), ...second.of("early")]).toEqual([]);
  });

  test("3085-12: a missing secret is the user's error, and marks the whole start", async () => {
    const { node } = fixture;
    const { of, signals, monitor } = await startMonitor("errors");
    await node.run("late-secret", {
      containers: [{ name: "c", image: "web:1", volumeMounts: [{ name: "v", mountPath: "/v" }] }],
      volumes: [{ name: "v", secret: { secretName: "for-the-monitor" } }],
    });
    await expect.poll(() => of("late-secret")).toContain("user error MissingSecret");
    await node.untilEvent("late-secret", /secret "for-the-monitor" not found/);
    // The event arrives separately, for displays.
    await expect
      .poll(() =>
        [...monitor.starting()].flatMap(({ pod, events }) =>
          pod.metadata.name === "late-secret" ? events : [],
        ),
      )
      .toContainEqual(expect.objectContaining({ reason: "FailedMount" }));
    await node.client.create("secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "for-the-monitor", namespace: "default" },
      data: {},
    } as Secret);
    await expect.poll(() => of("late-secret")).toContain("ready");
    expect(of("late-secret").filter((line) => line.startsWith("user"))).toHaveLength(1);
    const sandbox = signals("late-secret").find(({ kind }) => kind === "sandbox");
    expect(sandbox?.start.userError).toBe('MissingSecret: secret "for-the-monitor" not found');
  });

  test("3085-12: a sandbox that is never created is reported as stuck once; when the pod is deleted, the start is abandoned", async () => {
    const { node, given } = fixture;
    const { of, monitor } = await startMonitor("stuck", 1);
    await untilObserving(monitor);
    given({ match: { pod: "never-up" }, sandbox: { networkError: "no plugin" } });
    await node.run("never-up", { containers });
    await expect.poll(() => of("never-up")).toContain("stuck sandbox");
    expect([...monitor.starting()].find(({ pod }) => pod.metadata.name === "never-up")).toMatchObject({
      stage: "sandbox",
      stuck: true,
    });
    await node.untilEvent("never-up", /no plugin/);
    await node.client.delete("pods", { namespace: "default", name: "never-up" });
    await node.untilGone("never-up");
    await expect.poll(() => of("never-up").at(-1)).toBe("abandoned sandbox");
    expect(of("never-up").filter((line) => line === "stuck sandbox")).toHaveLength(1);
    expect(of("never-up")).not.toContain("first sandbox");
  });

  test("3085-12: termination is counted from the request, not from the end of the grace", async () => {
    const { node, given } = fixture;
    const { of, signals } = await startMonitor("ends");
    given({ match: { pod: "leaving" }, container: { stopDelayMs: 1_000 } });
    await node.run("leaving", { containers, terminationGracePeriodSeconds: 600 });
    await node.until("leaving", isReady);
    await node.client.delete("pods", { namespace: "default", name: "leaving" });
    await node.untilGone("leaving");
    await expect.poll(() => of("leaving").at(-1)).toBe("terminated");
    const seconds = secondsOf(signals("leaving"), "terminated") ?? Number.NaN;
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThan(600);
  });

  test("3085-12: pulls are reported with their duration and size", async () => {
    const { node, given } = fixture;
    const { of, signals } = await startMonitor("pulls");
    given({ match: { image: "pulled:1" }, pull: { sizeBytes: 5_000 } });
    await node.run("pulling", { containers: [{ name: "c", image: "pulled:1" }] });
    await expect.poll(() => of("pulling")).toContain("pull");
    expect(signals("pulling").find(({ kind }) => kind === "pull")).toMatchObject({
      image: "pulled:1",
      bytes: 5_000,
    });
  });
});

/** A claim that is bound without any controller. */
async function bindClaim(name: string, storageClassName: string): Promise<void> {
  const { client } = fixture.node;
  const resources = { requests: { storage: "1Gi" } };
  const accessModes = ["ReadWriteOnce"];
  await client.create("persistentvolumes", {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `volume-of-${name}` },
    spec: {
      accessModes,
      storageClassName,
      capacity: { storage: "1Gi" },
      hostPath: { path: tmpdir() },
      claimRef: { namespace: "default", name },
    },
  } as PersistentVolume);
  const claim = await client.create("persistentvolumeclaims", {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: "default" },
    spec: { accessModes, resources, storageClassName, volumeName: `volume-of-${name}` },
  } as PersistentVolumeClaim);
  await client.update(
    "persistentvolumeclaims",
    { ...claim, status: { phase: "Bound", accessModes, capacity: { storage: "1Gi" } } },
    { subresource: "status" },
  );
}

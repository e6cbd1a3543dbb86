import { expect, test } from "vitest";
import type { Node, Pod } from "../../api/meta/objects.ts";
import { silentLogger } from "../../lib/logger.ts";
import type { StartingPod } from "../tracking/monitor.ts";
import type { KubeletPodState, PollTarget } from "./kubelet-poller.ts";
import { createStartingViews } from "./starting-views.ts";

const created = "2030-01-01T00:00:00Z";
const now = Date.parse(created) + 5_000;

function starting(uid: string, { spec, status }: Partial<Pod> = {}): StartingPod {
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { uid, namespace: "a", name: uid, creationTimestamp: created },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
    status: status ?? {},
  };
  const of = {
    namespace: "a",
    ownerKind: "Pod",
    ownerName: uid,
    revision: "",
    runtimeClass: "",
    storageClasses: [],
  };
  return {
    start: {
      pod: { uid, namespace: "a", name: uid, node: pod.spec?.nodeName },
      class: { ...of, volumes: 0, chosen: {} },
      createdMs: Date.parse(created),
      beganMs: Date.parse(created),
      ends: {},
      pulls: [],
      restarts: 0,
      userError: undefined,
    },
    stage: "scheduling",
    stuck: false,
    pod,
    events: [],
  };
}

function setUp(capacity = 100) {
  const targets = new Map<string, PollTarget | undefined>();
  const known = new Map<string, KubeletPodState>();
  const nodes = new Map<string, Node>();
  const views = createStartingViews({
    capacity,
    findNode: (name) => {
      const object = nodes.get(name);
      return object ? { kind: "found", object } : undefined;
    },
    logger: silentLogger,
    kubelets: {
      get: (uid) => known.get(uid) ?? { pulls: [], budgets: [], advice: [] },
      setTarget: (uid, target) => void targets.set(uid, target),
    },
  });
  const take = () => {
    const { changed, gone } = views.takeChanges();
    return { changed: changed.map((text) => JSON.parse(text)), gone };
  };
  return { views, targets, known, nodes, take };
}

const onNode = { nodeName: "n1", containers: [{ name: "c", image: "i", startupProbe: {} }] };
const sandbox = { type: "PodReadyToStartContainers", status: "True", lastTransitionTime: created };
const running = { name: "c", image: "", imageID: "", ready: false, restartCount: 0, started: false };

test("reports a pod that is added, changed and removed", () => {
  const { views, take } = setUp();
  views.apply({ kind: "changed", starting: starting("p") });
  expect(views.update(now, 10)).toBe(false);
  expect(take()).toMatchObject({ changed: [{ uid: "p", stage: "scheduling" }], gone: [] });
  views.apply({ kind: "changed", starting: starting("p", { spec: onNode }) });
  views.update(now, 10);
  expect(take()).toMatchObject({ changed: [{ uid: "p", stage: "sandbox" }] });
  views.markDirty("p");
  views.update(now, 10);
  expect(take()).toEqual({ changed: [], gone: [] });
  views.apply({ kind: "gone", uid: "p", finished: undefined });
  views.update(now, 10);
  expect(take()).toEqual({ changed: [], gone: ["p"] });
  expect([...views.texts()]).toEqual([]);
});

test("polls the kubelet while its state is needed", () => {
  const { views, targets, known, take } = setUp();
  const at = (status: Pod["status"], spec: Pod["spec"] = onNode) => {
    views.apply({ kind: "changed", starting: starting("p", { spec, status }) });
    views.update(now, 10);
    return targets.get("p")?.about;
  };
  expect(at({}, { containers: [{ name: "c" }] })).toBeUndefined();
  expect(at({})).toBeUndefined();
  expect(at({ conditions: [sandbox] })).toEqual(new Set(["pulls"]));
  const pull = { container: "c", image: "i", startedAt: created, offset: 1, total: 2, layers: [] };
  const budget = { container: "c", failures: 2, secondsLeft: 9 };
  known.set("p", { pulls: [pull], budgets: [budget], advice: [] });
  take();
  views.markDirty("p");
  views.update(now, 10);
  expect(take().changed).toMatchObject([{ stage: "pulling", pulls: [pull] }]);
  const state = { running: { startedAt: created } };
  expect(at({ conditions: [sandbox], containerStatuses: [{ ...running, state }] })).toEqual(
    new Set(["budgets"]),
  );
  expect(take().changed).toMatchObject([{ stage: "starting", pulls: [], probes: [{ failures: 2 }] }]);
  expect(
    at({ conditions: [sandbox], containerStatuses: [{ ...running, started: true, state }] }),
  ).toBeUndefined();
});

test("shows pods up to the capacity and fills free places", () => {
  const { views, take } = setUp(2);
  for (const uid of ["a", "b", "c", "d"]) views.apply({ kind: "changed", starting: starting(uid) });
  views.update(now, 10);
  expect(take().changed).toMatchObject([{ uid: "a" }, { uid: "b" }]);
  expect(views.count()).toBe(4);
  views.apply({ kind: "gone", uid: "d", finished: undefined });
  views.apply({ kind: "gone", uid: "a", finished: undefined });
  views.update(now, 10);
  expect(take()).toMatchObject({ changed: [{ uid: "c" }], gone: ["a"] });
  expect(views.count()).toBe(2);
});

test("shows the other pods when one is invalid", () => {
  const { views, take } = setUp();
  const broken = starting("broken", { spec: onNode });
  views.reset([
    { ...broken, pod: { ...broken.pod, spec: { nodeName: "n1", containers: null } as never } },
    starting("p"),
  ]);
  expect(views.update(now, 10)).toBe(false);
  expect(take().changed).toMatchObject([{ uid: "p" }]);
});

test("computes views in limited batches", () => {
  const { views, take } = setUp();
  views.reset(Array.from({ length: 25 }, (_, i) => starting(`p${i}`)));
  expect([views.update(now, 10), views.update(now, 10), views.update(now, 10)]).toEqual([true, true, false]);
  expect(take().changed).toHaveLength(25);
});

test("a pod is explained by its node, again when the readiness of the node changes", () => {
  const { views, nodes, take } = setUp();
  views.apply({ kind: "changed", starting: starting("x", { spec: { nodeName: "n", containers: [] } }) });
  views.update(now, 10);
  expect(take().changed[0].because).not.toContain("not ready");
  const conditions = [{ type: "Ready", status: "Unknown", reason: "NodeStatusUnknown" }];
  nodes.set("n", { apiVersion: "v1", kind: "Node", metadata: { name: "n" }, status: { conditions } });
  views.markNodeDirty("other");
  views.update(now, 10);
  expect(take().changed).toEqual([]);
  views.markNodeDirty("n");
  views.update(now, 10);
  expect(take().changed[0].because).toMatch(/^Node n is not ready \(NodeStatusUnknown\)/);
});

import { expect, test } from "vitest";
import type { Pod } from "../../api/objects.ts";
import { silentLogger } from "../../lib/logger.ts";
import type { StartingPod } from "../monitor.ts";
import type { KubeletAnswer, Question } from "./kubelet-answers.ts";
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
  const wanted = new Map<string, Question | undefined>();
  const known = new Map<string, KubeletAnswer>();
  const views = createStartingViews({
    capacity,
    logger: silentLogger,
    answers: {
      of: (uid) => known.get(uid) ?? { pulls: [], budgets: [], advice: [] },
      want: (uid, question) => void wanted.set(uid, question),
    },
  });
  const take = () => {
    const { changed, gone } = views.takeChanges();
    return { changed: changed.map((text) => JSON.parse(text)), gone };
  };
  return { views, wanted, known, take };
}

const onNode = { nodeName: "n1", containers: [{ name: "c", image: "i", startupProbe: {} }] };
const sandbox = { type: "PodReadyToStartContainers", status: "True", lastTransitionTime: created };
const running = { name: "c", image: "", imageID: "", ready: false, restartCount: 0, started: false };

test("a pod that comes, changes, and starts no more", () => {
  const { views, take } = setUp();
  views.notice({ kind: "changed", starting: starting("p") });
  expect(views.update(now, 10)).toBe(false);
  expect(take()).toMatchObject({ changed: [{ uid: "p", stage: "scheduling" }], gone: [] });
  views.notice({ kind: "changed", starting: starting("p", { spec: onNode }) });
  views.update(now, 10);
  expect(take()).toMatchObject({ changed: [{ uid: "p", stage: "sandbox" }] });
  views.lookAgain("p");
  views.update(now, 10);
  expect(take()).toEqual({ changed: [], gone: [] });
  views.notice({ kind: "gone", uid: "p", finished: undefined });
  views.update(now, 10);
  expect(take()).toEqual({ changed: [], gone: ["p"] });
  expect([...views.texts()]).toEqual([]);
});

test("its kubelet is asked for what only that knows, as long as it matters", () => {
  const { views, wanted, known, take } = setUp();
  const at = (status: Pod["status"], spec: Pod["spec"] = onNode) => {
    views.notice({ kind: "changed", starting: starting("p", { spec, status }) });
    views.update(now, 10);
    return wanted.get("p")?.about;
  };
  expect(at({}, { containers: [{ name: "c" }] })).toBeUndefined();
  expect(at({})).toBeUndefined();
  expect(at({ conditions: [sandbox] })).toEqual(new Set(["pulls"]));
  const pull = { container: "c", image: "i", startedAt: created, offset: 1, total: 2, layers: [] };
  const budget = { container: "c", failures: 2, secondsLeft: 9 };
  known.set("p", { pulls: [pull], budgets: [budget], advice: [] });
  take();
  views.lookAgain("p");
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

test("only so many are shown; others take the places that become free", () => {
  const { views, take } = setUp(2);
  for (const uid of ["a", "b", "c", "d"]) views.notice({ kind: "changed", starting: starting(uid) });
  views.update(now, 10);
  expect(take().changed).toMatchObject([{ uid: "a" }, { uid: "b" }]);
  expect(views.count()).toBe(4);
  views.notice({ kind: "gone", uid: "d", finished: undefined });
  views.notice({ kind: "gone", uid: "a", finished: undefined });
  views.update(now, 10);
  expect(take()).toMatchObject({ changed: [{ uid: "c" }], gone: ["a"] });
  expect(views.count()).toBe(2);
});

test("a pod that is not as pods are does not keep others from being shown", () => {
  const { views, take } = setUp();
  const broken = starting("broken", { spec: onNode });
  views.reset([
    { ...broken, pod: { ...broken.pod, spec: { nodeName: "n1", containers: null } as never } },
    starting("p"),
  ]);
  expect(views.update(now, 10)).toBe(false);
  expect(take().changed).toMatchObject([{ uid: "p" }]);
});

test("many are worked out bit by bit", () => {
  const { views, take } = setUp();
  views.reset(Array.from({ length: 25 }, (_, i) => starting(`p${i}`)));
  expect([views.update(now, 10), views.update(now, 10), views.update(now, 10)]).toEqual([true, true, false]);
  expect(take().changed).toHaveLength(25);
});

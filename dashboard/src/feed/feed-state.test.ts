import { expect, test } from "vitest";
import type {
  EventView,
  FeedMessage,
  FinishedView,
  PodView,
  StatefulSetView,
} from "../../../src/monitor/feed/feed-message.ts";
import { applyMessages, emptyFeed } from "./feed-state.ts";

const pod = (uid: string, more: Partial<PodView> = {}): PodView => ({
  uid,
  namespace: "shop",
  name: uid,
  node: undefined,
  owner: "Pod",
  createdMs: 0,
  stage: "scheduling",
  since: undefined,
  because: "",
  isTransient: true,
  fix: undefined,
  spans: [],
  pulls: [],
  probes: [],
  ...more,
});
const pulling = (uid: string, offset: number) =>
  pod(uid, {
    pulls: [
      {
        container: "c",
        image: "web:1",
        startedAt: "1970-01-01T00:00:01Z",
        offset,
        total: 100,
        layers: [
          { layer: "a", offset, total: 80, stage: "downloading" },
          { layer: "b", offset: 0, total: 20, stage: "waiting" },
        ],
      },
    ],
  });
const finished = (uid: string, readyMs = 0) => ({ uid, readyMs }) as FinishedView;
const event = (uid: string, count = 1) => ({ uid, count }) as EventView;
const set = (name: string, replicas = 1) => ({ namespace: "shop", name, replicas }) as StatefulSetView;
const snapshot = (more: Partial<Extract<FeedMessage, { kind: "snapshot" }>> = {}): FeedMessage => ({
  kind: "snapshot",
  now: 2_000,
  cluster: { server: "https://c", version: "v1.36.0" },
  starting: [],
  finished: [],
  statefulSets: [],
  slos: [],
  nodes: [],
  events: [],
  ...more,
});
const change = (more: Partial<Extract<FeedMessage, { kind: "change" }>>): FeedMessage => ({
  kind: "change",
  now: 3_000,
  ...more,
});
const uids = (list: readonly { readonly uid: string }[]) => list.map(({ uid }) => uid).join(" ");

test("a snapshot replaces everything, including earlier messages of the frame", () => {
  const before = applyMessages(emptyFeed, [snapshot({ starting: [pod("old")], events: [event("e")] })]);
  const after = applyMessages(before, [
    change({ starting: [pod("lost")] }),
    snapshot({ starting: [pod("new")] }),
  ]);
  expect([...after.starting.keys()]).toEqual(["new"]);
  expect(after.events).toEqual([]);
  expect(after.cluster?.server).toBe("https://c");
});

test("applies changes of pods in the order of the messages", () => {
  const after = applyMessages(emptyFeed, [
    snapshot({ starting: [pod("a"), pod("b")] }),
    change({ starting: [pod("b", { because: "later" }), pod("c")] }),
    change({ gone: ["a", "never-seen"] }),
  ]);
  expect([...after.starting.keys()]).toEqual(["b", "c"]);
  expect(after.starting.get("b")?.because).toBe("later");
});

test("counts starting pods beyond those that are sent", () => {
  const many = applyMessages(emptyFeed, [snapshot({ starting: [pod("a")], startingTotal: 9 })]);
  expect(many.startingTotal).toBe(9);
  expect(applyMessages(many, [change({ events: [event("e")] })]).startingTotal).toBe(9);
  expect(applyMessages(many, [change({ gone: ["a"], startingTotal: 0 })]).startingTotal).toBe(0);
  expect(applyMessages(emptyFeed, [snapshot({ starting: [pod("a"), pod("b")] })]).startingTotal).toBe(2);
});

test("keeps the identity of unchanged parts", () => {
  const before = applyMessages(emptyFeed, [
    snapshot({ starting: [pod("a")], finished: [finished("f")], statefulSets: [set("db")] }),
  ]);
  const after = applyMessages(before, [change({ events: [event("e")] })]);
  expect(after.starting).toBe(before.starting);
  expect(after.samples).toBe(before.samples);
  expect(after.finished).toBe(before.finished);
  expect(after.statefulSets).toBe(before.statefulSets);
  expect(after.slos).toBe(before.slos);
});

test("keeps lists sorted, replaces entries in place and limits their length", () => {
  const first = applyMessages(emptyFeed, [snapshot({ events: [event("b"), event("a")] })]);
  const after = applyMessages(first, [
    change({ events: [event("c"), event("a", 7)] }),
    change({ events: [event("e"), event("d")] }),
  ]);
  expect(uids(after.events)).toBe("e d c b a");
  expect(after.events.at(-1)?.count).toBe(7);
  const many = Array.from({ length: 300 }, (_, i) => event(`n${i}`));
  const full = applyMessages(after, [change({ events: many })]);
  expect(full.events).toHaveLength(200);
  expect(full.events[0]?.uid).toBe("n0");
});

test("keeps the last version of an entry that occurs twice in a frame", () => {
  const after = applyMessages(emptyFeed, [
    snapshot(),
    change({ finished: [finished("f", 1)] }),
    change({ finished: [finished("f", 2)] }),
  ]);
  expect(after.finished).toEqual([finished("f", 2)]);
});

test("identifies StatefulSets by namespace and name", () => {
  const after = applyMessages(emptyFeed, [
    snapshot({ statefulSets: [set("db"), set("mq")] }),
    change({ statefulSets: [set("db", 5)], goneStatefulSets: ["shop/mq"] }),
  ]);
  expect([...after.statefulSets.values()]).toEqual([set("db", 5)]);
});

test("samples pulls and their downloading layers until the pod is removed", () => {
  const first = applyMessages(emptyFeed, [snapshot({ starting: [pulling("a", 10)] })]);
  expect(first.samples.get("a")?.get("c\nweb:1")).toEqual([
    { atMs: 1_000, offset: 0 },
    { atMs: 2_000, offset: 10 },
  ]);
  const second = applyMessages(first, [change({ starting: [pulling("a", 30)] })]);
  expect(second.samples.get("a")?.get("c\nweb:1\na")).toEqual([
    { atMs: 2_000, offset: 10 },
    { atMs: 3_000, offset: 30 },
  ]);
  expect(second.samples.get("a")?.has("c\nweb:1\nb")).toBe(false);
  // The samples are kept after a reconnect.
  const again = applyMessages(second, [snapshot({ now: 4_000, starting: [pulling("a", 50)] })]);
  expect(again.samples.get("a")?.get("c\nweb:1")).toHaveLength(4);
  expect(applyMessages(again, [change({ gone: ["a"] })]).samples.size).toBe(0);
});

import { expect, test } from "vitest";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createMemoryStore } from "../../store/local/memory-store.ts";
import type { Store } from "../../store/store.ts";
import { event, running, sketchPod } from "./start.fixture.ts";
import { createStartJournal } from "./start-journal.ts";
import { encodeRecord } from "./start-record.ts";
import type { StartSignal } from "./start-signal.ts";
import { createStartTracker } from "./start-tracker.ts";
import { untracked } from "./tracked-start.ts";

const classes = { chosenLabels: [], chosenAnnotations: [], storageClassOf: () => undefined };

/** Journal and tracker over a store, with the signals that they emit. */
async function open(store: Store, clock = createManualClock(Date.parse("2022-12-06T15:00:00.700Z"))) {
  const signals: string[] = [];
  const emit = ({ kind, start }: StartSignal) => void signals.push(`${kind} ${start.pod.uid}`);
  const journal = createStartJournal({ store, clock, logger: silentLogger, emit, onRemoved() {} });
  const loaded = await journal.load();
  const tracker = createStartTracker({
    ...loaded,
    classes,
    unavailableMs: () => 0,
    stuckAfterMs: 60_000,
    write: journal.write,
    onStarting() {},
  });
  const stop = new AbortController();
  const running = journal.run(stop.signal);
  const close = () => {
    stop.abort();
    return running;
  };
  return { signals, journal, loaded, tracker, clock, close };
}

const seen = { unbroken: true, now: 0 };
const pod = (uid: string, scheduled?: string) => sketchPod({ scheduled, metadata: { uid } });
const keys = async (store: Store) => (await store.list("/starts/")).entries.map(({ key }) => key);

test("emits only new signals after a restart", async () => {
  const store = createMemoryStore();
  const first = await open(store);
  first.tracker.podSeen(pod("a", "True 15:33:46"), seen);
  first.tracker.podSeen(pod("b"), seen);
  await first.close();
  expect(first.signals).toEqual(["stage a"]);
  expect(await keys(store)).toEqual(["/starts/a"]);

  const second = await open(store);
  expect(second.loaded.sinceMs).toBe(Date.parse("2022-12-06T15:00:00Z"));
  for (const uid of ["a", "b"])
    second.tracker.podSeen(pod(uid, "True 15:33:46"), { ...seen, unbroken: false });
  await second.close();
  expect(second.signals).toEqual(["stage b"]);
});

test("keeps the time of the monitor's first start", async () => {
  const store = createMemoryStore();
  await (await open(store)).close();
  const later = await open(store, createManualClock(Date.parse("2022-12-07T00:00:00Z")));
  expect(later.loaded.sinceMs).toBe(Date.parse("2022-12-06T15:00:00Z"));
  await later.close();
});

test("removes the records of deleted pods, including those deleted while the monitor was stopped", async () => {
  const store = createMemoryStore();
  const first = await open(store);
  for (const uid of ["a", "b", "c"]) first.tracker.podSeen(pod(uid, "True 15:33:46"), seen);
  first.tracker.podGone(pod("a", "True 15:33:46"), seen);
  await first.close();
  expect(await keys(store)).toEqual(["/starts/b", "/starts/c"]);

  const second = await open(store);
  second.tracker.podSeen(pod("c", "True 15:33:46"), { ...seen, unbroken: false });
  expect(second.tracker.settle()).toEqual({ dropped: 1 });
  await second.close();
  expect(await keys(store)).toEqual(["/starts/c"]);
});

/** Store whose writes are blocked or fail on demand. */
function gated(store: Store) {
  const gate = { failing: false, open: Promise.resolve() };
  const through = async <T>(write: () => Promise<T>) => {
    await gate.open;
    if (gate.failing) throw new Error("no space left on device");
    return write();
  };
  const wrapped: Store = {
    ...store,
    create: (key, value) => through(() => store.create(key, value)),
    update: (key, value, options) => through(() => store.update(key, value, options)),
  };
  return { gate, store: wrapped };
}

test("emits a signal at most once when the process is killed before or after the write", async () => {
  const memory = createMemoryStore();
  const { gate, store } = gated(memory);
  const first = await open(store);
  // The process ends during this write.
  gate.open = new Promise(() => {});
  first.tracker.podSeen(pod("a", "True 15:33:46"), seen);
  await first.clock.advance(10_000);
  expect(first.signals).toEqual([]);
  expect(await keys(memory)).toEqual([]);

  const second = await open(memory);
  second.tracker.podSeen(pod("a", "True 15:33:46"), seen);
  await second.clock.advance(1_000);
  expect(second.signals).toEqual(["stage a"]);
  // Killed again.
  const third = await open(memory);
  third.tracker.podSeen(pod("a", "True 15:33:46"), { ...seen, unbroken: false });
  await third.clock.advance(1_000);
  expect(third.signals).toEqual([]);
});

test("delays signals until a full disk has space", async () => {
  const { gate, store } = gated(createMemoryStore());
  const { tracker, clock, signals, close } = await open(store);
  gate.failing = true;
  tracker.podSeen(pod("a", "True 15:33:46"), seen);
  await clock.advance(10_000);
  expect(signals).toEqual([]);
  tracker.podSeen(sketchPod({ scheduled: "True 15:33:46", phase: "Failed", metadata: { uid: "a" } }), seen);
  gate.failing = false;
  await clock.advance(10_000);
  expect(signals).toEqual(["stage a", "abandoned a"]);
  await close();
});

test("ignores invalid records", async () => {
  const store = createMemoryStore();
  for (const [uid, text] of [
    ["a", "{"],
    ["b", "[]"],
    ["c", '{"o":"x"}'],
    ["d", '{"e":["x"],"p":[[1]],"r":{"c":-1},"d":"99"}'],
  ] as const) {
    await store.create(`/starts/${uid}`, Buffer.from(text));
  }
  const { tracker, signals, close } = await open(store);
  for (const uid of ["a", "b", "c", "d"]) tracker.podSeen(pod(uid, "True 15:33:46"), seen);
  await close();
  expect(signals).toEqual(["stage a", "stage b", "stage c", "stage d"]);
});

test("applies events that arrive before their pod and ignores those of another namespace", async () => {
  const { tracker, signals, close } = await open(createMemoryStore());
  const mount = event("FailedMount", 'MountVolume.SetUp failed for volume "v" : secret "x" not found');
  const about = (uid: string) => ({ ...mount, involvedObject: { ...mount.involvedObject, uid } });
  tracker.eventSeen(about("a"), 0);
  tracker.podSeen(pod("a"), seen);
  tracker.podSeen(pod("b"), seen);
  tracker.eventSeen({ ...about("b"), metadata: { ...mount.metadata, namespace: "elsewhere" } }, 0);
  await close();
  expect(signals).toEqual(["user-error a"]);
  expect([...tracker.starting()].map(({ events }) => events.length)).toEqual([1, 0]);
});

test("does not measure mirror pods", async () => {
  const { tracker, signals, close } = await open(createMemoryStore());
  const annotations = { "kubernetes.io/config.mirror": "hash" };
  tracker.podSeen(sketchPod({ scheduled: "True 15:33:46", metadata: { uid: "m", annotations } }), seen);
  await close();
  expect(signals).toEqual([]);
});

test("restores finished starts after a restart, newest first", async () => {
  const store = createMemoryStore();
  const ready = (uid: string, time: string) =>
    sketchPod({
      scheduled: "True 15:33:46",
      sandbox: "True 15:33:47",
      containers: [running("15:33:48")],
      ready: `True ${time}`,
      metadata: { uid },
    });
  const uids = (tracker: { finished(): readonly { pod: { uid: string } }[] }) =>
    tracker.finished().map(({ pod: { uid } }) => uid);
  const first = await open(store);
  first.tracker.podSeen(ready("late", "15:33:59"), seen);
  first.tracker.podSeen(ready("early", "15:33:50"), seen);
  await first.close();
  const second = await open(store);
  for (const [uid, time] of [
    ["late", "15:33:59"],
    ["early", "15:33:50"],
  ] as const) {
    second.tracker.podSeen(ready(uid, time), { ...seen, unbroken: false });
  }
  second.tracker.settle();
  expect(uids(second.tracker)).toEqual(["late", "early"]);
  await second.close();
});

test("encodes an unknown start as an empty record", () => {
  expect(encodeRecord(untracked)).toBe("");
});

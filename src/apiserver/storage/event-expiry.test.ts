import { expect, onTestFinished, test } from "vitest";
import { eventKind } from "../../api/kinds/core/event/kind.ts";
import type { Event } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createMemoryStore } from "../../store/local/memory-store.ts";
import { createKindRegistry } from "../kinds/kind-registry.ts";
import { createEventExpiry } from "./event-expiry.ts";
import { keyPrefix } from "./object-key.ts";
import { createObjectStore } from "./object-store.ts";
import { loadWatchCache } from "./watch-cache.ts";

const { resource } = eventKind;
const minuteMs = 60_000;
const startMs = Date.parse("2026-01-01T12:00:00Z");

const makeEvent = (name: string, occurredMs: number, createdMs = occurredMs): Event => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name, namespace: "default", creationTimestamp: formatTime(createdMs) },
  involvedObject: {},
  lastTimestamp: formatTime(occurredMs),
});

async function open() {
  const store = createMemoryStore();
  const clock = createManualClock(startMs);
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const kinds = createKindRegistry([eventKind]);
  const cache = await loadWatchCache({ store, clock, logger: silentLogger, kinds });
  void cache.run(stop.signal);
  const objectStore = createObjectStore({ store, cache });
  const create = (event: Event) =>
    objectStore.create({ resource, namespace: "default", name: event.metadata.name ?? "" }, event);
  const names = () =>
    [...objectStore.cache(resource).range(keyPrefix(resource))].map(({ key }) => key.split("/").at(-1));
  return { objectStore, clock, create, names };
}

test("deletes an event an hour after its last write", async () => {
  const { objectStore, clock, create, names } = await open();
  const expiry = createEventExpiry({ objectStore, clock });
  await create(makeEvent("once", startMs));
  await create(makeEvent("again", startMs));
  const run = async (minutes: number) => {
    for (let i = 0; i < minutes; i++) {
      await expiry.deleteExpired();
      await clock.advance(minuteMs);
    }
  };
  await run(30);
  const ref = { resource, namespace: "default", name: "again" };
  await objectStore.change(ref, () => ({ kind: "put", object: makeEvent("again", clock.now()) }));
  await run(30);
  expect(names()).toEqual(["again", "once"]);
  await run(1);
  expect(names()).toEqual(["again"]);
  await run(29);
  expect(names()).toEqual(["again"]);
  await run(2);
  expect(names()).toEqual([]);
});

test("deletes events from before the start of the server by their own times", async () => {
  const { objectStore, clock, create, names } = await open();
  await create(makeEvent("old", startMs - 61 * minuteMs));
  await create(makeEvent("repeated", startMs - 30 * minuteMs, startMs - 90 * minuteMs));
  await create(makeEvent("future", startMs + 1_000 * minuteMs, startMs - 50 * minuteMs));
  const expiry = createEventExpiry({ objectStore, clock });
  await expiry.deleteExpired();
  expect(names()).toEqual(["future", "repeated"]);
  await clock.advance(10 * minuteMs);
  await expiry.deleteExpired();
  expect(names()).toEqual(["repeated"]);
  await clock.advance(20 * minuteMs);
  await expiry.deleteExpired();
  expect(names()).toEqual([]);
});

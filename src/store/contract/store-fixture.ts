import { setMaxListeners } from "node:events";
import { expect } from "vitest";
import { eventKey, type Store, type StoreErrorCode, type StoreEvent, type WatchOptions } from "../store.ts";

/** Backend under test. */
export interface StoreBackend {
  /** Opens a new, empty store. */
  open(): Promise<Store>;
  /** Removes the data that `open` created. */
  cleanUp?(): Promise<void>;
}

/** Store for one test, with watches that end together with it. */
export interface StoreFixture {
  readonly store: Store;
  watch(prefix: string, options: Partial<WatchOptions> & { fromRevision: number }): AsyncIterable<StoreEvent>;
  close(): Promise<void>;
}

export async function openStoreFixture(backend: StoreBackend): Promise<StoreFixture> {
  const abort = new AbortController();
  // One signal ends all watches of a test.
  setMaxListeners(0, abort.signal);
  const store = await backend.open();
  return {
    store,
    watch: (prefix, options) => store.watch(prefix, { signal: abort.signal, ...options }),
    async close() {
      abort.abort();
      await store.close();
      await backend.cleanUp?.();
    },
  };
}

export async function created(store: Store, key: string, value: string): Promise<number> {
  const result = await store.create(key, bytes(value));
  expect(result.kind).toBe("created");
  return result.kind === "created" ? result.revision : Number.NaN;
}

export async function expectCode(code: StoreErrorCode, action: () => Promise<unknown>): Promise<void> {
  await expect((async () => action())()).rejects.toMatchObject({ name: "StoreError", code });
}

export async function take(events: AsyncIterable<StoreEvent>, count: number): Promise<StoreEvent[]> {
  const taken: StoreEvent[] = [];
  for await (const event of events) {
    taken.push(event);
    if (taken.length === count) break;
  }
  return taken;
}

export async function collect(events: AsyncIterable<StoreEvent>): Promise<StoreEvent[]> {
  const collected: StoreEvent[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

export function describeEvent(event: StoreEvent): string {
  const value = event.kind === "put" ? `=${event.entry.value}` : "";
  const previous = event.previous ? ` was ${event.previous.value}@${event.previous.revision}` : "";
  return `${event.revision} ${event.kind} ${eventKey(event)}${value}${previous}`;
}

export function bytes(text: string): Buffer {
  return Buffer.from(text);
}

export function range(count: number): number[] {
  return [...Array(count).keys()];
}

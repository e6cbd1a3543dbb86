import { describe, expect, test } from "vitest";
import { type Event, Event_EventType as EventType, type WatchResponse } from "./generated/etcd.ts";
import { createEtcdKeys } from "./keys.ts";
import { createEtcdWatcher } from "./watches.ts";

const keys = createEtcdKeys("");

describe("the create request for a new stream starts at", () => {
  const cases: { name: string; messages: Partial<WatchResponse>[]; resumeAt: number; queued?: string[] }[] = [
    { name: "its own start when nothing was received", messages: [{ created: true }], resumeAt: 5 },
    {
      name: "the revision after the last event",
      messages: [{ events: [put("/a", 7), put("/b", 9)] }],
      resumeAt: 10,
      queued: ["7 /a", "9 /b"],
    },
    {
      name: "the revision after a progress notification",
      messages: [{ header: { revision: 20 } }],
      resumeAt: 21,
    },
    {
      name: "its own start after an older progress notification",
      messages: [{ header: { revision: 3 } }],
      resumeAt: 5,
    },
    {
      name: "the incomplete revision of a split message, which was not delivered",
      messages: [{ fragment: true, events: [put("/a", 6), put("/a", 7), put("/b", 7)] }],
      resumeAt: 7,
      queued: ["6 /a"],
    },
    {
      name: "the next revision after the rest of a split message",
      messages: [
        { fragment: true, events: [put("/a", 7), put("/b", 7)] },
        { fragment: true, events: [put("/c", 7)] },
        { events: [put("/d", 7), put("/a", 8)] },
      ],
      resumeAt: 9,
      queued: ["7 /a", "7 /b", "7 /c", "7 /d", "8 /a"],
    },
  ];
  test.each(cases)("$name", async ({ messages, resumeAt, queued = [] }) => {
    const watcher = createEtcdWatcher({ id: 1, prefix: "/", fromRevision: 5, maxBuffered: 100, keys });
    for (const message of messages) expect(await watcher.accept(response(message))).toBeUndefined();
    expect(watcher.createRequest().requestUnion?.value).toMatchObject({ startRevision: resumeAt });
    expect(await readQueued(watcher)).toEqual(queued);
  });

  test("discards an incomplete revision of a failed stream", async () => {
    const watcher = createEtcdWatcher({ id: 1, prefix: "/", fromRevision: 5, maxBuffered: 100, keys });
    await watcher.accept(response({ fragment: true, events: [put("/a", 7)] }));
    watcher.createRequest();
    await watcher.accept(response({ events: [put("/a", 7), put("/b", 7)] }));
    expect(await readQueued(watcher)).toEqual(["7 /a", "7 /b"]);
  });
});

describe("a watch fails on", () => {
  const cases: { name: string; message: Partial<WatchResponse>; code: string; says: string }[] = [
    {
      name: "a compacted revision",
      message: { canceled: true, compactRevision: 30 },
      code: "compacted",
      says: "revision 5 was compacted; the oldest kept is 30",
    },
    {
      name: "a rejection",
      message: { created: true, canceled: true, cancelReason: "etcdserver: permission denied" },
      code: "unavailable",
      says: "etcd ended the watch of /: etcdserver: permission denied",
    },
    {
      name: "an update whose previous value was compacted",
      message: { events: [{ ...put("/a", 7), kv: { ...kv("/a", 7), createRevision: 3 } }] },
      code: "compacted",
      says: "revision 6 was compacted",
    },
    {
      name: "a deletion whose previous value was compacted",
      message: { events: [{ type: EventType.DELETE, kv: kv("/a", 7), prevKv: undefined }] },
      code: "compacted",
      says: "revision 6 was compacted",
    },
    {
      name: "a full buffer",
      message: { events: [put("/a", 7), put("/b", 8), put("/c", 9)] },
      code: "slowWatcher",
      says: "the watch of / fell more than 2 events behind",
    },
  ];
  test.each(cases)("$name", async ({ message, code, says }) => {
    const watcher = createEtcdWatcher({ id: 1, prefix: "/", fromRevision: 5, maxBuffered: 2, keys });
    expect(await watcher.accept(response(message))).toMatchObject({
      code,
      message: expect.stringContaining(says),
    });
  });
});

function response(message: Partial<WatchResponse>): WatchResponse {
  return {
    header: { revision: 100 },
    watchId: 1,
    created: false,
    canceled: false,
    compactRevision: 0,
    cancelReason: "",
    fragment: false,
    events: [],
    ...message,
  };
}

function put(key: string, revision: number): Event {
  return { type: EventType.PUT, kv: kv(key, revision), prevKv: undefined };
}

function kv(key: string, revision: number) {
  return { key: Buffer.from(key), value: Buffer.from("v"), createRevision: revision, modRevision: revision };
}

async function readQueued(watcher: ReturnType<typeof createEtcdWatcher>): Promise<string[]> {
  watcher.end();
  const seen: string[] = [];
  for await (const event of watcher.events)
    seen.push(`${event.revision} ${event.kind === "put" ? event.entry.key : ""}`);
  return seen;
}

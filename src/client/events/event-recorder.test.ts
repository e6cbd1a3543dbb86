import { describe, expect, test } from "vitest";
import { StatusError } from "../../api/meta/status-error.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createClient } from "../api/create-client.ts";
import { createScriptedTransport, type ScriptedResponse } from "../transport/transport.fixture.ts";
import { TransportError } from "../transport/transport.ts";
import { createEventQueue, createEventRecorder, type EventWrite } from "./event-recorder.ts";

const about = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "ns", uid: name },
});
const started = { type: "Normal", reason: "Started", message: "Started container" } as const;

function start(answer: (path: string, method: string) => ScriptedResponse | Promise<ScriptedResponse>) {
  const clock = createManualClock(1_000_000);
  const { transport, requests } = createScriptedTransport(({ path, method }) => answer(path, method));
  const recorder = createEventRecorder({
    client: createClient({ transport, clock }),
    component: "kubelet",
    clock,
    logger: silentLogger,
    random: () => 0,
  });
  const stop = new AbortController();
  const running = recorder.run(stop.signal);
  return {
    clock,
    recorder,
    requests,
    names: () => requests.map(({ body }) => JSON.parse(body ?? "{}").metadata?.name),
    async stop() {
      stop.abort();
      await running;
    },
  };
}

describe("an event recorder", () => {
  test("gives different names to events of the same millisecond", async () => {
    const { recorder, clock, names, stop } = start(() => ({}));
    for (const message of ["one", "two", "three"]) recorder.record(about("a"), { ...started, message });
    await clock.advance(0);
    expect(new Set(names()).size).toBe(3);
    await stop();
  });

  test("reports the duration of the latest write and of one in progress", async () => {
    let answer = (_: ScriptedResponse) => {};
    const { recorder, clock, stop } = start(() => new Promise((resolve) => (answer = resolve)));
    expect(recorder.writeMs()).toBe(0);
    recorder.record(about("a"), started);
    await clock.advance(300);
    expect(recorder.writeMs()).toBe(300);
    answer({});
    await clock.advance(1_000);
    expect(recorder.writeMs()).toBe(300);
    await stop();
  });

  test("recreates an event whose original was deleted", async () => {
    const { recorder, clock, requests, stop } = start((_, method) =>
      method === "PATCH" ? { status: 404, body: { kind: "Status", code: 404, reason: "NotFound" } } : {},
    );
    recorder.record(about("a"), started);
    recorder.record(about("a"), started);
    await clock.advance(0);
    expect(requests.map(({ method }) => method)).toEqual(["POST", "PATCH", "POST"]);
    expect(JSON.parse(requests[2]?.body ?? "")).toMatchObject({ count: 2 });
    await stop();
  });

  test("writes events in order after an outage", async () => {
    let away = true;
    const { recorder, clock, names, stop } = start(() => {
      if (away) throw new TransportError("away");
      return {};
    });
    recorder.record(about("a"), started);
    recorder.record(about("b"), started);
    await clock.advance(5_000);
    expect(names().every((name) => name.startsWith("a."))).toBe(true);
    away = false;
    await clock.advance(5_000);
    expect(
      names()
        .slice(-2)
        .map((name) => name[0]),
    ).toEqual(["a", "b"]);
    expect(recorder.dropped()).toBe(0);
    await stop();
  });

  test("gives up after twelve attempts and continues with the next event", async () => {
    const { recorder, clock, names, stop } = start((_, method) => {
      if (method === "POST") throw new TransportError("away");
      return {};
    });
    recorder.record(about("a"), started);
    await clock.advance(120_000);
    expect(names()).toHaveLength(12);
    expect(recorder.dropped()).toBe(1);
    recorder.record(about("b"), started);
    await clock.advance(0);
    expect(names().at(-1)).toMatch(/^b\./);
    await stop();
  });

  test.each([
    [403, 1],
    [409, 1],
    [503, 12],
  ])("an event rejected with status %i is tried %i times", async (status, tries) => {
    const { recorder, clock, requests, stop } = start(() => ({
      status,
      body: new StatusError(status, "InternalError", "no").toStatus(),
    }));
    recorder.record(about("a"), started);
    await clock.advance(120_000);
    expect(requests).toHaveLength(tries);
    expect(recorder.dropped()).toBe(1);
    await stop();
  });

  test("drops events when a thousand are queued", () => {
    const { recorder } = start(() => new Promise(() => {}));
    for (let i = 0; i < 1_003; i++) recorder.record(about(`pod-${i}`), started);
    expect(recorder.dropped()).toBe(3);
  });

  test("continues flushing after an event that the server rejects", async () => {
    const { recorder, names, stop } = start((path) =>
      path.includes("/gone/")
        ? { status: 403, body: new StatusError(403, "Forbidden", "it goes").toStatus() }
        : {},
    );
    const gone = about("a");
    recorder.record({ ...gone, metadata: { ...gone.metadata, namespace: "gone" } }, started);
    recorder.record(about("b"), started);
    await stop();
    expect(names().map((name) => name[0])).toEqual(["a", "b"]);
    expect(recorder.dropped()).toBe(1);
  });

  test("flushes the queue once when it stops", async () => {
    let away = true;
    const { recorder, clock, requests, stop } = start(() => {
      if (away) throw new TransportError("away");
      return {};
    });
    recorder.record(about("a"), started);
    recorder.record(about("b"), started);
    await clock.advance(10);
    away = false;
    await stop();
    expect(requests).toHaveLength(3);
    expect(recorder.dropped()).toBe(0);

    const lost = start(() => {
      throw new TransportError("away");
    });
    for (const name of ["a", "b", "c"]) lost.recorder.record(about(name), started);
    await lost.clock.advance(10);
    await lost.stop();
    expect(lost.requests).toHaveLength(2);
    expect(lost.recorder.dropped()).toBe(3);
    expect(lost.clock.sleeping()).toBe(0);
  });
});

const queuedEvent = (name: string, message: string, type = "Normal"): EventWrite => ({
  kind: "create",
  event: {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: message },
    involvedObject: { kind: "Pod", namespace: "ns", name, uid: name },
    type,
    message,
  },
});
const text = (writing: EventWrite | undefined) => writing?.event.message;

test("the event queue returns several events, but one at a time per object", () => {
  const queue = createEventQueue(10);
  const [a1, a2, b1] = [queuedEvent("a", "a1"), queuedEvent("a", "a2"), queuedEvent("b", "b1")];
  for (const writing of [a1, a2, b1]) queue.add(writing);
  expect([queue.take(), queue.take(), queue.take()].map(text)).toEqual(["a1", "b1", undefined]);
  queue.done(a1);
  expect(text(queue.take())).toBe("a2");
});

test("a full event queue replaces the newest normal event by a warning", () => {
  const queue = createEventQueue(3);
  for (const name of ["a", "b", "c"]) expect(queue.add(queuedEvent(name, name))).toBeUndefined();
  expect(text(queue.add(queuedEvent("d", "d")))).toBe("d");
  expect(text(queue.add(queuedEvent("e", "e", "Warning")))).toBe("c");
  expect(text(queue.add(queuedEvent("f", "f", "Warning")))).toBe("b");
  queue.take();
  expect(text(queue.add(queuedEvent("g", "g", "Warning")))).toBe("g");
});

test("draining the event queue includes events taken and not done", () => {
  const queue = createEventQueue(3);
  for (const name of ["a", "b", "c"]) queue.add(queuedEvent(name, name));
  const first = queue.take();
  queue.take();
  if (first) queue.done(first);
  expect(queue.drain().map(text)).toEqual(["b", "c"]);
  expect(queue.take()).toBeUndefined();
});

import { expect, test } from "vitest";
import { createManualClock } from "../../../lib/manual-clock.ts";
import { createUnreadMemory } from "../../limits/unread-memory.ts";
import { createQueueSink } from "./in-process-handler.ts";

function start() {
  const clock = createManualClock();
  const memory = createUnreadMemory({ clock, maxBytes: 1_000 });
  const stopping = new AbortController();
  void memory.run(stopping.signal);
  return { clock, memory, stop: () => stopping.abort() };
}

test("bytes that several watches wait for count once, until they are read", async () => {
  const { clock, memory, stop } = start();
  const frame = [Buffer.from("event"), Buffer.from("s")];
  const sinks = [createQueueSink(memory), createQueueSink(memory)];
  for (const sink of sinks) sink.write(frame);
  await clock.advance(1_000);
  expect(memory.totalBytes()).toBe(6);
  expect(sinks.map((sink) => sink.backlog())).toEqual([6, 6]);
  for (const sink of sinks) {
    const reading = sink.read();
    expect((await reading.next()).value).toBe(frame[0]);
    await reading.next();
    await reading.return(undefined);
    expect(sink.closed.aborted).toBe(true);
  }
  await clock.advance(1_000);
  expect(memory.totalBytes()).toBe(0);
  stop();
});

test("a watch that is not read for 60 s is closed, and its reader gets an error", async () => {
  const { clock, memory, stop } = start();
  const sink = createQueueSink(memory);
  sink.write([Buffer.from("event")]);
  await clock.advance(61_000);
  expect(sink.closed.aborted).toBe(true);
  await expect(sink.read().next()).rejects.toThrow("events were not read");
  expect(memory.disconnects().timeout).toBe(1);
  await clock.advance(1_000);
  expect(memory.totalBytes()).toBe(0);
  stop();
});

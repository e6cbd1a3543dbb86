import { expect, test } from "vitest";
import { createEventQueue, type EventWriting } from "./event-queue.ts";

const about = (name: string, message: string, type = "Normal"): EventWriting => ({
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
const text = (writing: EventWriting | undefined) => writing?.event.message;

test("several at a time, those about one object in their order", () => {
  const queue = createEventQueue(10);
  const [a1, a2, b1] = [about("a", "a1"), about("a", "a2"), about("b", "b1")];
  for (const writing of [a1, a2, b1]) queue.add(writing);
  expect([queue.take(), queue.take(), queue.take()].map(text)).toEqual(["a1", "b1", undefined]);
  queue.done(a1);
  expect(text(queue.take())).toBe("a2");
});

test("full, a warning takes the place of the newest that is only normal", () => {
  const queue = createEventQueue(3);
  for (const name of ["a", "b", "c"]) expect(queue.add(about(name, name))).toBeUndefined();
  expect(text(queue.add(about("d", "d")))).toBe("d");
  expect(text(queue.add(about("e", "e", "Warning")))).toBe("c");
  expect(text(queue.add(about("f", "f", "Warning")))).toBe("b");
  queue.take();
  expect(text(queue.add(about("g", "g", "Warning")))).toBe("g");
});

test("what was taken and not done is among those that are left", () => {
  const queue = createEventQueue(3);
  for (const name of ["a", "b", "c"]) queue.add(about(name, name));
  const first = queue.take();
  queue.take();
  if (first) queue.done(first);
  expect(queue.drain().map(text)).toEqual(["b", "c"]);
  expect(queue.take()).toBeUndefined();
});

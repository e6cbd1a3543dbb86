import { describe, expect, test } from "vitest";
import type { Event } from "../../api/meta/objects.ts";
import { createEventCorrelator, makeEvent } from "./event-correlator.ts";

const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web-0", namespace: "ns", uid: "u" } };
let nanoseconds = 0n;

interface EventParts {
  about?: string;
  reason?: string;
  fieldPath?: string;
  now?: number;
}

function event(
  message: string,
  { about = "web-0", reason = "Failed", fieldPath, now = 0 }: EventParts = {},
): Event {
  return makeEvent(
    { ...pod, metadata: { ...pod.metadata, name: about } },
    { type: "Warning", reason, message, fieldPath },
    { source: { component: "kubelet", host: "n1" }, now, nanoseconds: nanoseconds++ },
  );
}

describe("an event correlator", () => {
  test("increments the count of a repeated event, keeping the name and first timestamp", () => {
    const correlator = createEventCorrelator();
    const first = event("again");
    expect(correlator.correlate(first, 0)).toEqual({ kind: "create", event: first });
    const again = correlator.correlate(event("again", { now: 60_000 }), 60_000);
    expect(again).toMatchObject({
      kind: "patch",
      patch: { count: 2, lastTimestamp: "1970-01-01T00:01:00Z", message: "again" },
      event: { metadata: first.metadata, firstTimestamp: "1970-01-01T00:00:00Z", count: 2 },
    });
    expect(correlator.correlate(event("again"), 1)).toMatchObject({ kind: "patch", patch: { count: 3 } });
  });

  test.each<[string, EventParts]>([
    ["reason", { reason: "BackOff" }],
    ["object", { about: "web-1" }],
    ["container", { fieldPath: "spec.containers{b}" }],
  ])("distinguishes events by %s", (_, other) => {
    const correlator = createEventCorrelator();
    correlator.correlate(event("x"), 0);
    expect(correlator.correlate(event("x", other), 0).kind).toBe("create");
  });

  test("combines from the tenth different message with the same reason on", () => {
    const correlator = createEventCorrelator();
    for (let i = 1; i <= 9; i++) expect(correlator.correlate(event(`m${i}`), 0).kind).toBe("create");
    const tenth = correlator.correlate(event("m10"), 0);
    expect(tenth).toMatchObject({
      kind: "create",
      event: { message: "(combined from similar events): m10", count: 1 },
    });
    expect(correlator.correlate(event("m11"), 0)).toMatchObject({
      kind: "patch",
      event: { metadata: tenth.kind === "create" ? tenth.event.metadata : undefined },
      patch: { count: 2, message: "(combined from similar events): m11" },
    });
    expect(correlator.correlate(event("other", { reason: "BackOff" }), 0)).toMatchObject({
      event: { message: "other" },
    });
  });

  test("restarts after ten minutes without a similar event", () => {
    const correlator = createEventCorrelator();
    for (let i = 1; i <= 10; i++) correlator.correlate(event(`m${i}`), 0);
    expect(correlator.correlate(event("m11"), 600_000)).toMatchObject({ kind: "patch" });
    expect(correlator.correlate(event("m12"), 1_200_001)).toMatchObject({
      kind: "create",
      event: { message: "m12" },
    });
  });

  test("allows an event 25 times, then once every five minutes, and other events at any time", () => {
    const correlator = createEventCorrelator();
    const kinds = Array.from({ length: 30 }, () => correlator.correlate(event("x"), 0).kind);
    expect(kinds.filter((kind) => kind !== "spam")).toHaveLength(25);
    expect(correlator.correlate(event("x", { about: "web-1" }), 0).kind).toBe("create");
    expect(correlator.correlate(event("y"), 0).kind).toBe("create");
    expect(correlator.correlate(event("x", { reason: "Killing" }), 0).kind).toBe("create");
    expect(correlator.correlate(event("x"), 299_999).kind).toBe("spam");
    // Dropped events are counted as well.
    expect(correlator.correlate(event("x"), 300_001)).toMatchObject({ kind: "patch", patch: { count: 32 } });
    expect(correlator.correlate(event("x"), 300_002).kind).toBe("spam");
  });
});

test("limits the events of a component whose messages are always different", () => {
  const correlator = createEventCorrelator();
  const kinds = Array.from({ length: 1_000 }, (_, i) => correlator.correlate(event(`m${i}`), 0).kind);
  expect(kinds.filter((kind) => kind !== "spam")).toHaveLength(9 + 25);
});

describe("an event name", () => {
  test("is the object's name with a timestamp, or random if that would be invalid", () => {
    const occurrence = { source: { component: "c" }, now: 0, nanoseconds: 255n };
    const about = (name: string) => ({ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "ns" } });
    const recorded = { type: "Normal", reason: "R", message: "m" } as const;
    expect(makeEvent(about("web-0"), recorded, occurrence).metadata.name).toBe("web-0.ff");
    for (const name of ["a".repeat(253), "system:node"]) {
      expect(makeEvent(about(name), recorded, occurrence).metadata.name).toMatch(/^[0-9a-f-]{36}$/);
    }
  });
});

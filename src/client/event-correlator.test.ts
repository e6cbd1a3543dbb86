import { describe, expect, test } from "vitest";
import type { Event } from "../api/objects.ts";
import { createEventCorrelator } from "./event-correlator.ts";
import { makeEvent } from "./make-event.ts";

const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web-0", namespace: "ns", uid: "u" } };
let nanoseconds = 0n;

interface Said {
  about?: string;
  reason?: string;
  fieldPath?: string;
  now?: number;
}

function event(
  message: string,
  { about = "web-0", reason = "Failed", fieldPath, now = 0 }: Said = {},
): Event {
  return makeEvent(
    { ...pod, metadata: { ...pod.metadata, name: about } },
    { type: "Warning", reason, message, fieldPath },
    { source: { component: "kubelet", host: "n1" }, now, nanoseconds: nanoseconds++ },
  );
}

describe("an event correlator", () => {
  test("counts the same event up, keeping the name and the time of the first", () => {
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

  test.each<[string, Said]>([
    ["reasons", { reason: "BackOff" }],
    ["objects", { about: "web-1" }],
    ["containers", { fieldPath: "spec.containers{b}" }],
  ])("keeps different %s apart", (_, other) => {
    const correlator = createEventCorrelator();
    correlator.correlate(event("x"), 0);
    expect(correlator.correlate(event("x", other), 0).kind).toBe("create");
  });

  test("combines the tenth different message of one reason and all that follow", () => {
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

  test("begins anew after ten minutes without a similar one", () => {
    const correlator = createEventCorrelator();
    for (let i = 1; i <= 10; i++) correlator.correlate(event(`m${i}`), 0);
    expect(correlator.correlate(event("m11"), 600_000)).toMatchObject({ kind: "patch" });
    expect(correlator.correlate(event("m12"), 1_200_001)).toMatchObject({
      kind: "create",
      event: { message: "m12" },
    });
  });

  test("lets a component say a thing 25 times, then once every five minutes, and new things at any time", () => {
    const correlator = createEventCorrelator();
    const kinds = Array.from({ length: 30 }, () => correlator.correlate(event("x"), 0).kind);
    expect(kinds.filter((kind) => kind !== "spam")).toHaveLength(25);
    expect(correlator.correlate(event("x", { about: "web-1" }), 0).kind).toBe("create");
    expect(correlator.correlate(event("y"), 0).kind).toBe("create");
    expect(correlator.correlate(event("x", { reason: "Killing" }), 0).kind).toBe("create");
    expect(correlator.correlate(event("x"), 299_999).kind).toBe("spam");
    // What was not written was counted all the same.
    expect(correlator.correlate(event("x"), 300_001)).toMatchObject({ kind: "patch", patch: { count: 32 } });
    expect(correlator.correlate(event("x"), 300_002).kind).toBe("spam");
  });
});

test("a component whose words are always new does not flood the API either", () => {
  const correlator = createEventCorrelator();
  const kinds = Array.from({ length: 1_000 }, (_, i) => correlator.correlate(event(`m${i}`), 0).kind);
  expect(kinds.filter((kind) => kind !== "spam")).toHaveLength(9 + 25);
});

describe("an event's name", () => {
  test("is the object's with a time, or a random one where that would not be valid", () => {
    const occurrence = { source: { component: "c" }, now: 0, nanoseconds: 255n };
    const about = (name: string) => ({ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "ns" } });
    const said = { type: "Normal", reason: "R", message: "m" } as const;
    expect(makeEvent(about("web-0"), said, occurrence).metadata.name).toBe("web-0.ff");
    for (const name of ["a".repeat(253), "system:node"]) {
      expect(makeEvent(about(name), said, occurrence).metadata.name).toMatch(/^[0-9a-f-]{36}$/);
    }
  });
});

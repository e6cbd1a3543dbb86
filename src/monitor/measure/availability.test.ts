import { describe, expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import type { Client, ListOptions } from "../../client/api/client.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createAvailability, createPodReader } from "./availability.ts";

/** One line per observation with its time in seconds; a successful read by default. */
type Step =
  | number
  | readonly [at: number, what: "failed" | "pods lost" | "events lost" | "pods open" | "events open"];

function observe(steps: readonly Step[]) {
  const availability = createAvailability();
  for (const step of steps) {
    const [at, what] = typeof step === "number" ? [step, "answered"] : step;
    const nowMs = at * 1_000;
    const watch = what.startsWith("pods") ? "pods" : "events";
    if (what === "answered") availability.readSucceeded({ sentMs: nowMs, receivedMs: nowMs + 20 });
    else if (what === "failed") availability.readFailed(nowMs);
    else if (what.endsWith("lost")) availability.watchLost(watch, nowMs);
    else availability.watchOpened(watch);
  }
  const away = (from: number, until: number) =>
    availability.unavailableMs(from * 1_000, until * 1_000) / 1_000;
  return { availability, away };
}

/** Successful reads every five seconds. */
const steady = (from: number, until: number) =>
  Array.from({ length: (until - from) / 5 + 1 }, (_, i) => from + 5 * i);

describe("3085-16 does not count", () => {
  const cases: readonly (readonly [string, readonly Step[], [number, number], number])[] = [
    ["everything, before the first answer", [], [0, 60], 60],
    ["nothing, while the API server answers", steady(0, 100), [5, 100], 0],
    ["the time before the monitor came, and until kubelets have reported", steady(100, 200), [0, 200], 130],
    ["the time before the monitor came, not for pods that came later", steady(100, 200), [100, 200], 0],
    [
      "an outage and the same time again until kubelets have reported",
      [...steady(0, 50), [52, "failed"], ...steady(60, 100)],
      [10, 100],
      20,
    ],
    ["a long outage and 30 seconds", [...steady(0, 50), [52, "failed"], ...steady(650, 700)], [10, 700], 630],
    ["an outage that lasts", [...steady(0, 50), [52, "failed"]], [10, 100], 50],
    ["an outage from the last answer on, when a watch breaks", [0, 5, [8, "pods lost"]], [0, 10], 5],
    ["a watch that stays lost while reads succeed", [0, [1, "events lost"], ...steady(5, 50)], [0, 50], 50],
    ["a watch that is open again", [0, [1, "events lost"], [2, "events open"], ...steady(3, 48)], [1, 48], 5],
    ["a period without reads", [...steady(0, 20), ...steady(320, 400)], [10, 400], 330],
    ["all that was before a clock was set back", [...steady(1_000, 1_100), ...steady(0, 100)], [10, 100], 0],
    [
      "more time after a failure far in the future",
      [...steady(0, 20), [3_600, "failed"], ...steady(25, 100)],
      [60, 100],
      0,
    ],
    ["overlapping times twice", [0, [1, "failed"], 4, [5, "failed"], 9, 14, 19], [0, 19], 14],
    ["what is over before the stretch begins", [...steady(0, 20), ...steady(320, 400)], [321, 400], 0],
  ];
  test.each(cases)("%s", (_, steps, [from, until], seconds) => {
    expect(observe(steps).away(from, until)).toBe(seconds);
  });
});

test.each([
  ["in time", 0, 20, true],
  ["after a suspension", 0, 60_000, false],
  ["after a clock was set back", 60_000, 0, false],
])(
  "3085-16: a read %s shows that the API server was available from %s ms to %s ms: %s",
  (_, sentMs, receivedMs, shows) => {
    expect(createAvailability().readSucceeded({ sentMs, receivedMs })).toBe(shows);
  },
);

test("3085-16: a read sent before a failure does not end the outage", () => {
  const { availability, away } = observe([0, [10, "failed"]]);
  expect(availability.readSucceeded({ sentMs: 9_000, receivedMs: 11_000 })).toBe(false);
  expect(away(0, 20)).toBe(20);
});

test("merges old outages to bound memory", () => {
  const { away } = observe(Array.from({ length: 2_000 }, (_, i): Step => i * 60));
  expect(away(60_000, 119_940)).toBe(59_940);
});

const { signal } = new AbortController();
const pod = (name: string, resourceVersion = "1", uid = name) =>
  ({ metadata: { namespace: "shop", name, uid, resourceVersion } }) as Pod;

function setUp(answer: (name: string) => Pod[] | Promise<never>) {
  const clock = createManualClock(1_000_000);
  const availability = createAvailability();
  const asked: ListOptions[] = [];
  const list = (async (_resource: string, options: ListOptions) => {
    asked.push(options);
    return { items: await answer(options.fieldSelector?.split("=")[1] ?? ""), resourceVersion: "9" };
  }) as unknown as Client["list"];
  const reader = createPodReader({ client: { list }, clock, availability, find: (uid) => pod(uid) });
  return { clock, availability, asked, reader };
}

test("3085-16: confirms a pod when the API server has the same version", async () => {
  const { reader, asked } = setUp((name) =>
    name === "changed" ? [pod(name, "2")] : name === "gone" ? [] : [pod(name, "1", name.replace("new-", ""))],
  );
  const confirmed = await reader.confirm(
    ["same", "changed", "gone", "new-same"].map((name) => pod(name)),
    signal,
  );
  expect([...confirmed]).toEqual([["same", 1_000_000]]);
  // Consistent reads have no resource version.
  expect(asked[0]).toMatchObject({ namespace: "shop", fieldSelector: "metadata.name=same" });
  expect(asked.some((options) => "resourceVersion" in options)).toBe(false);
});

test("3085-16: confirms nothing and stops reading when the API server is unavailable", async () => {
  const { reader, asked, availability, clock } = setUp(() => Promise.reject(new Error("refused")));
  await reader.confirm(
    Array.from({ length: 100 }, (_, i) => pod(`p${i}`)),
    signal,
  );
  expect(asked.length).toBeLessThan(10);
  await reader.probe(signal);
  expect(availability.unavailableMs(0, clock.now())).toBe(clock.now());
});

test("3085-16: treats a read that times out as an outage", async () => {
  const { reader, clock, availability, asked } = setUp(
    () =>
      new Promise((_, reject) => {
        const given = asked.at(-1)?.signal;
        given?.addEventListener("abort", () => reject(given.reason));
      }),
  );
  availability.readSucceeded({ sentMs: clock.now(), receivedMs: clock.now() });
  const probing = reader.probe(signal);
  await clock.advance(15_000);
  await probing;
  expect(availability.unavailableMs(1_000_000, clock.now())).toBe(15_000);
});

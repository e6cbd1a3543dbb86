import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import {
  createPullEventRateLimit,
  type EventRate,
  initialRate,
  limitPullEvents,
  phaseOf,
} from "./pull-event-rate-limit.ts";

const rateAfter = (lastEventAt: number, periodMs: number, fastWrites = 0): EventRate => ({
  lastEventAt,
  periodMs,
  fastWrites,
});

type Asked = { now: number; since?: number; writeMs?: number };

test.each<[string, EventRate, Asked, number, number, number?]>([
  ["first event, before the phase", initialRate, { now: 250, since: 250 }, 50, 1_000],
  ["first event, at the phase", initialRate, { now: 300, since: 250 }, 0, 1_000],
  ["first event, after a late timer", initialRate, { now: 320, since: 250 }, 0, 1_000],
  ["first event, just after the phase", initialRate, { now: 300, since: 300 }, 1_000, 1_000],
  ["first event, after a slow write of another event", initialRate, { now: 250, writeMs: 9_000 }, 50, 1_000],
  ["second event at the same time", rateAfter(300, 1_000), { now: 300 }, 1_000, 1_000],
  ["later event", rateAfter(300, 1_000), { now: 5_000, since: 5_000 }, 300, 1_000],
  ["writes of 50 ms", rateAfter(1_300, 1_000), { now: 1_300, writeMs: 50 }, 1_000, 1_000],
  ["writes of 51 ms", rateAfter(1_300, 1_000), { now: 1_300, writeMs: 51 }, 2_000, 2_000],
  ["writes of 140 ms", rateAfter(1_300, 1_000), { now: 1_300, writeMs: 140 }, 3_000, 3_000],
  ["writes of a second", rateAfter(1_300, 1_000), { now: 1_300, writeMs: 1_000 }, 24_000, 24_000],
  ["server is unreachable", rateAfter(1_300, 1_000), { now: 1_300, writeMs: 600_000 }, 24_000, 24_000],
  ["fast write after slow ones", rateAfter(1_300, 4_000, 2), { now: 1_300 }, 4_000, 4_000, 2],
  ["fast write at the phase", rateAfter(1_300, 4_000, 2), { now: 5_300 }, 0, 4_000, 3],
  ["sixteenth fast write", rateAfter(1_300, 4_000, 15), { now: 5_300 }, 0, 3_000],
  ["slow write after fast ones", rateAfter(1_300, 4_000, 15), { now: 5_300, writeMs: 200 }, 0, 4_000],
  [
    "first event after a minute",
    rateAfter(1_300, 24_000, 3),
    { now: 70_000, since: 70_000, writeMs: 900 },
    300,
    1_000,
  ],
])("%s", (_of, rate, request, waitMs, periodMs, fastWrites = 0) => {
  const turn = limitPullEvents(rate, { phaseMs: 1_300, since: 0, writeMs: 0, ...request });
  expect(turn.waitMs).toBe(waitMs);
  expect(turn.rate).toMatchObject({ periodMs, fastWrites });
  if (waitMs === 0) expect(turn.rate.lastEventAt).toBe(request.now);
});

test("the phase depends on the node name only", () => {
  expect(["node-1", "node-2", "node-10", ""].map(phaseOf)).toEqual([7_526, 4_703, 12_376, 4_610]);
});

interface Load {
  readonly nodes: number;
  /** Time of the server for one event. */
  readonly serviceMs: number;
  readonly seconds: number;
}

/**
 * Simulates nodes that start at the same time and always have progress to record, and a server that handles events
 * sequentially. Returns the events in each second and the delay of a request at each millisecond.
 */
function simulate({ nodes, serviceMs, seconds }: Load) {
  const kubelets = Array.from({ length: nodes }, (_, i) => ({
    phaseMs: phaseOf(`node-${i}`),
    rate: initialRate,
    wakeAt: 0,
    writeMs: 0,
    begunAt: 0,
    doneAt: 0,
  }));
  const arrivals = Array.from({ length: seconds }, () => 0);
  const waits: number[] = [];
  let freeAt = 0;
  for (let now = 0; now < 1_000 * seconds; now++) {
    for (const kubelet of kubelets) {
      if (kubelet.wakeAt > now) continue;
      const { phaseMs, begunAt, doneAt } = kubelet;
      const writeMs = Math.min(doneAt, now) - begunAt;
      const turn = limitPullEvents(kubelet.rate, { now, since: 0, phaseMs, writeMs });
      kubelet.rate = turn.rate;
      kubelet.wakeAt = now + Math.max(1, turn.waitMs);
      if (turn.waitMs > 0) continue;
      freeAt = Math.max(freeAt, now) + serviceMs;
      kubelet.begunAt = now;
      kubelet.doneAt = freeAt;
      const second = Math.floor(now / 1_000);
      arrivals[second] = (arrivals[second] ?? 0) + 1;
    }
    waits.push(Math.max(0, freeAt - now));
  }
  return { arrivals, waits };
}

const p99 = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0;

test("3542-11 1,000 nodes that start at the same time spread their events evenly over each second", () => {
  const { arrivals, waits } = simulate({ nodes: 1_000, serviceMs: 0.15, seconds: 5 });
  expect(arrivals).toEqual([1_000, 1_000, 1_000, 1_000, 1_000]);
  // If all wrote at once, the last would wait for 150 ms.
  expect(Math.max(...waits)).toBeLessThan(2);
});

test("3542-11 nodes that overload a server slow down until other requests are barely delayed", () => {
  const { arrivals, waits } = simulate({ nodes: 1_000, serviceMs: 2, seconds: 90 });
  const settled = { arrivals: arrivals.slice(45), waits: waits.slice(45_000) };
  // At one event per second they need twice the server's capacity. No node stops recording.
  expect(Math.max(...settled.arrivals)).toBeLessThan(400);
  expect(Math.min(...settled.arrivals)).toBeGreaterThan(40);
  expect(p99(settled.waits)).toBeLessThan(50);
});

function setUp() {
  const clock = createManualClock();
  const server = { writeMs: 0 };
  const turn = createPullEventRateLimit({ nodeName: "node-1", eventWriteMs: () => server.writeMs, clock });
  const granted: string[] = [];
  const phaseMs = phaseOf("node-1") % 1_000;
  /** Requests an event. Returns a function that cancels the request. */
  const ask = (name: string) => {
    const stop = new AbortController();
    void turn(stop.signal).then(
      () => granted.push(`${name} ${clock.now() - phaseMs}`),
      (reason) => granted.push(`${name}: ${reason}`),
    );
    return (reason: string) => stop.abort(reason);
  };
  return { clock, server, ask, granted };
}

test("allows one event at a time, in the order of the requests", async () => {
  const { clock, ask, granted } = setUp();
  for (const name of ["a", "b", "c"]) ask(name);
  await clock.advance(2_500);
  ask("a");
  await clock.advance(10_000);
  ask("d");
  await clock.advance(1_000);
  expect(granted).toEqual(["a 0", "b 1000", "c 2000", "a 3000", "d 12000"]);
});

test("a cancelled request does not delay the next", async () => {
  const { clock, ask, granted } = setUp();
  const [endFirst, endSecond] = [ask("a"), ask("b")];
  ask("c");
  endSecond("ended");
  endFirst("ended");
  await clock.advance(1_000);
  expect(granted).toEqual(["b: ended", "a: ended", "c 0"]);
});

test("slows down when writes become slow while a pull waits", async () => {
  const { clock, server, ask, granted } = setUp();
  ask("a");
  ask("b");
  await clock.advance(1_000);
  server.writeMs = 600;
  await clock.advance(1_000);
  expect(granted).toEqual(["a 0"]);
  await clock.advance(12_000);
  expect(granted).toHaveLength(2);
});

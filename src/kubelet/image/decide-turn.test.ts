import { expect, test } from "vitest";
import { decideTurn, type Pace, phaseOf, restedPace } from "./decide-turn.ts";

const told = (toldAt: number, periodMs: number, calmTurns = 0): Pace => ({ toldAt, periodMs, calmTurns });

type Asked = { now: number; since?: number; writeMs?: number };

test.each<[string, Pace, Asked, number, number, number?]>([
  ["the first, before its phase", restedPace, { now: 250, since: 250 }, 50, 1_000],
  ["the first, in its phase", restedPace, { now: 300, since: 250 }, 0, 1_000],
  ["the first, waking late", restedPace, { now: 320, since: 250 }, 0, 1_000],
  ["the first, just behind its phase", restedPace, { now: 300, since: 300 }, 1_000, 1_000],
  ["the first, after a slow event of another kind", restedPace, { now: 250, writeMs: 9_000 }, 50, 1_000],
  ["one behind another", told(300, 1_000), { now: 300 }, 1_000, 1_000],
  ["one that comes later", told(300, 1_000), { now: 5_000, since: 5_000 }, 300, 1_000],
  ["writes of 50 ms", told(1_300, 1_000), { now: 1_300, writeMs: 50 }, 1_000, 1_000],
  ["of 51 ms", told(1_300, 1_000), { now: 1_300, writeMs: 51 }, 2_000, 2_000],
  ["of 140 ms", told(1_300, 1_000), { now: 1_300, writeMs: 140 }, 3_000, 3_000],
  ["of a second", told(1_300, 1_000), { now: 1_300, writeMs: 1_000 }, 24_000, 24_000],
  ["to a server that is away", told(1_300, 1_000), { now: 1_300, writeMs: 600_000 }, 24_000, 24_000],
  ["quick ones after slow ones", told(1_300, 4_000, 2), { now: 1_300 }, 4_000, 4_000, 2],
  ["the same in its phase", told(1_300, 4_000, 2), { now: 5_300 }, 0, 4_000, 3],
  ["and for the sixteenth time", told(1_300, 4_000, 15), { now: 5_300 }, 0, 3_000],
  ["slow again", told(1_300, 4_000, 15), { now: 5_300, writeMs: 200 }, 0, 4_000],
  [
    "the first after a minute",
    told(1_300, 24_000, 3),
    { now: 70_000, since: 70_000, writeMs: 900 },
    300,
    1_000,
  ],
])("%s", (_of, pace, asking, waitMs, periodMs, calmTurns = 0) => {
  const turn = decideTurn(pace, { phaseMs: 1_300, since: 0, writeMs: 0, ...asking });
  expect(turn.waitMs).toBe(waitMs);
  expect(turn.pace).toMatchObject({ periodMs, calmTurns });
  if (waitMs === 0) expect(turn.pace.toldAt).toBe(asking.now);
});

test("a node's phase is its own, and always the same", () => {
  expect(["node-1", "node-2", "node-10", ""].map(phaseOf)).toEqual([7_526, 4_703, 12_376, 4_610]);
});

interface Load {
  readonly nodes: number;
  /** How long the server takes for one event. */
  readonly serviceMs: number;
  readonly seconds: number;
}

/**
 * Nodes that all begin to wait at one instant and always have a pull to tell of, and one server that takes events one by
 * one: how many came in each second, and how long a request at each millisecond would have waited.
 */
function simulate({ nodes, serviceMs, seconds }: Load) {
  const kubelets = Array.from({ length: nodes }, (_, i) => ({
    phaseMs: phaseOf(`node-${i}`),
    pace: restedPace,
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
      const turn = decideTurn(kubelet.pace, { now, since: 0, phaseMs, writeMs });
      kubelet.pace = turn.pace;
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

test("3542-11 1,000 nodes that begin at one instant are even over each second, and keep nobody waiting", () => {
  const { arrivals, waits } = simulate({ nodes: 1_000, serviceMs: 0.15, seconds: 5 });
  expect(arrivals).toEqual([1_000, 1_000, 1_000, 1_000, 1_000]);
  // All at one instant, the last of them waits for 150.
  expect(Math.max(...waits)).toBeLessThan(2);
});

test("3542-11 nodes that are too many for a server find a pace at which others hardly notice", () => {
  const { arrivals, waits } = simulate({ nodes: 1_000, serviceMs: 2, seconds: 90 });
  const settled = { arrivals: arrivals.slice(45), waits: waits.slice(45_000) };
  // They ask for twice as much as it can do. None falls silent.
  expect(Math.max(...settled.arrivals)).toBeLessThan(400);
  expect(Math.min(...settled.arrivals)).toBeGreaterThan(40);
  expect(p99(settled.waits)).toBeLessThan(50);
});

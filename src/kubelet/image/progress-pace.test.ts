import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { phaseOf } from "./decide-turn.ts";
import { createProgressPace } from "./progress-pace.ts";

function setUp() {
  const clock = createManualClock();
  const server = { writeMs: 0 };
  const turn = createProgressPace({ nodeName: "node-1", eventWriteMs: () => server.writeMs, clock });
  const told: string[] = [];
  const phaseMs = phaseOf("node-1") % 1_000;
  /** Asks for a turn; calls it off with what it returns. */
  const ask = (name: string) => {
    const stop = new AbortController();
    void turn(stop.signal).then(
      () => told.push(`${name} ${clock.now() - phaseMs}`),
      (reason) => told.push(`${name}: ${reason}`),
    );
    return (reason: string) => stop.abort(reason);
  };
  return { clock, server, ask, told };
}

test("one at a time, in the order in which they came", async () => {
  const { clock, ask, told } = setUp();
  for (const name of ["a", "b", "c"]) ask(name);
  await clock.advance(2_500);
  ask("a");
  await clock.advance(10_000);
  ask("d");
  await clock.advance(1_000);
  expect(told).toEqual(["a 0", "b 1000", "c 2000", "a 3000", "d 12000"]);
});

test("one that ends leaves its place to the next", async () => {
  const { clock, ask, told } = setUp();
  const [endFirst, endSecond] = [ask("a"), ask("b")];
  ask("c");
  endSecond("ended");
  endFirst("ended");
  await clock.advance(1_000);
  expect(told).toEqual(["b: ended", "a: ended", "c 0"]);
});

test("a server that becomes slow while a pull waits is told less", async () => {
  const { clock, server, ask, told } = setUp();
  ask("a");
  ask("b");
  await clock.advance(1_000);
  server.writeMs = 600;
  await clock.advance(1_000);
  expect(told).toEqual(["a 0"]);
  await clock.advance(12_000);
  expect(told).toHaveLength(2);
});

import { expect, test } from "vitest";
import type { TransportResponse } from "../../client/transport/transport.ts";
import { createLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createStartMetrics } from "../metrics/start-metrics.ts";
import {
  createClusterClock,
  narrowOffset,
  type OffsetBounds,
  offsetMs,
  type TimedResponse,
} from "./cluster-clock.ts";

function setUp() {
  const log: string[] = [];
  const clock = createManualClock(Date.parse("2026-05-01T12:00:00Z"));
  const logger = createLogger({
    format: "json",
    level: "info",
    destination: { write: (line) => log.push(line) },
  });
  const cluster = createClusterClock({ clock, logger });
  let date: string | undefined;
  const transport = cluster.observe({
    send: async () => ({ status: 200, headers: { date } }) as unknown as TransportResponse,
    close() {},
  });
  const respond = async (at: string | undefined) => {
    date = at;
    await transport.send({ method: "GET", path: "/version", headers: {} });
  };
  return { clock, cluster, respond, log };
}

test("follows the server's clock, logs the offset once and exports it as a metric", async () => {
  const { clock, cluster, respond, log } = setUp();
  expect(cluster.now()).toBe(clock.now());
  await respond("Fri, 01 May 2026 12:10:00 GMT");
  await respond("Fri, 01 May 2026 12:10:00 GMT");
  expect(Math.abs(cluster.now() - clock.now() - 600_000)).toBeLessThanOrEqual(1_000);
  const lines = log.filter((line) => line.includes("clock"));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/this machine's clock is 60[01] s behind the API server's/);
  const metrics = createStartMetrics({ clock });
  cluster.register(metrics.registry);
  expect(String((await metrics.scrape()).body)).toMatch(/^kindling_cluster_clock_offset_seconds 600/m);
});

test.each([undefined, "yesterday", ""])("ignores a response with the date %j", async (date) => {
  const { clock, cluster, respond, log } = setUp();
  await respond(date);
  expect([cluster.now() - clock.now(), log]).toEqual([0, []]);
});

/** Responses of a server whose clock is ahead by `aheadMs`, one per round-trip time. */
function responses(aheadMs: number, ...roundTripsMs: number[]): TimedResponse[] {
  return roundTripsMs.map((roundTrip, i) => {
    const sentMs = 1_000_000 + i * 3_333;
    const serverMs = sentMs + roundTrip / 2 + aheadMs;
    return { sentMs, receivedMs: sentMs + roundTrip, dateMs: Math.floor(serverMs / 1_000) * 1_000 };
  });
}

const narrow = (all: readonly TimedResponse[]) =>
  all.reduce<OffsetBounds | undefined>(narrowOffset, undefined);

test.each([
  { ahead: 0, ways: [10] },
  { ahead: 0, ways: [3_000, 20] },
  { ahead: 900, ways: [10, 10, 10] },
  { ahead: -1_200, ways: [10, 10, 10] },
])("treats an offset of $ahead ms as none", ({ ahead, ways }) => {
  expect(offsetMs(narrow(responses(ahead, ...ways)))).toBe(0);
});

test.each([300_000, -300_000, 5_000, -86_400_000])("finds an offset of %i ms to within a second", (ahead) => {
  const found = offsetMs(narrow(responses(ahead, 40, 10, 2_000, 15)));
  expect(Math.abs(found - ahead)).toBeLessThan(1_000);
});

test("follows a clock that is set at once", () => {
  const bounds = narrow([...responses(300_000, 10, 10, 10), ...responses(0, 10)]);
  expect(offsetMs(bounds)).toBe(0);
});

test("assumes no offset before the first response", () => {
  expect(offsetMs(undefined)).toBe(0);
});

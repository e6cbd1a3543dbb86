import { expect, test } from "vitest";
import type { TransportResponse } from "../../client/transport.ts";
import { createLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createStartMetrics } from "../metrics/start-metrics.ts";
import { createClusterClock } from "./cluster-clock.ts";

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
  const transport = cluster.listenTo({
    send: async () => ({ status: 200, headers: { date } }) as unknown as TransportResponse,
    close() {},
  });
  const answer = async (at: string | undefined) => {
    date = at;
    await transport.send({ method: "GET", path: "/version", headers: {} });
  };
  return { clock, cluster, answer, log };
}

test("follows the server's clock, says so once, and tells it as a metric", async () => {
  const { clock, cluster, answer, log } = setUp();
  expect(cluster.now()).toBe(clock.now());
  await answer("Fri, 01 May 2026 12:10:00 GMT");
  await answer("Fri, 01 May 2026 12:10:00 GMT");
  expect(Math.abs(cluster.now() - clock.now() - 600_000)).toBeLessThanOrEqual(1_000);
  const lines = log.filter((line) => line.includes("clock"));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/this machine's clock is 60[01] s behind the API server's/);
  const metrics = createStartMetrics({ clock });
  cluster.register(metrics.small);
  expect(String((await metrics.scrape()).body)).toMatch(/^kindling_cluster_clock_offset_seconds 600/m);
});

test.each([undefined, "yesterday", ""])("an answer with the date %j tells nothing", async (date) => {
  const { clock, cluster, answer, log } = setUp();
  await answer(date);
  expect([cluster.now() - clock.now(), log]).toEqual([0, []]);
});

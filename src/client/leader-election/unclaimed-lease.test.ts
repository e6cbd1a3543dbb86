import { expect, test } from "vitest";
import type { Lease } from "../../api/meta/objects.ts";
import { notFound } from "../../api/meta/status-error.ts";
import { untilAborted } from "../../lib/abort.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { TransportError } from "../transport/transport.ts";
import { runWhileUnclaimed } from "./unclaimed-lease.ts";

/** A lease that others write, and what the work and the log do about it. */
function setUp({ isAway = false } = {}) {
  const clock = createManualClock();
  const stop = new AbortController();
  const log: string[] = [];
  let lease: Lease | undefined;
  const get = async () => {
    if (isAway) throw new TransportError("away");
    if (!lease) throw notFound({ group: "coordination.k8s.io", plural: "leases" }, "l");
    return lease;
  };
  const running = runWhileUnclaimed(
    {
      client: { get } as unknown as Parameters<typeof runWhileUnclaimed>[0]["client"],
      namespace: "kube-system",
      name: "l",
      clock,
      logger: silentLogger,
      monotonicMs: clock.now,
      onOtherHolder: (holder) => log.push(`held by ${holder}`),
    },
    async (signal) => {
      log.push("begins");
      await untilAborted(signal);
      log.push("ends");
    },
    stop.signal,
  );
  return {
    clock,
    log,
    write: (holderIdentity: string, renewTime: string) => {
      lease = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: {},
        spec: { holderIdentity, leaseDurationSeconds: 15, renewTime },
      } as unknown as Lease;
    },
    away: (is: boolean) => {
      isAway = is;
    },
    async end() {
      stop.abort();
      await running;
    },
  };
}

test("works at once where there is no lease, or one that was released", async () => {
  const { clock, log, write, end } = setUp();
  await clock.advance(0);
  expect(log).toEqual(["begins"]);
  write("", "2026-01-01T00:00:00.000000Z");
  await clock.advance(60_000);
  expect(log).toEqual(["begins"]);
  await end();
});

test("stops when another takes the lease, and waits until it was not renewed for its duration", async () => {
  const { clock, log, write, end } = setUp();
  await clock.advance(0);
  for (let i = 0; i < 20; i++) {
    // A holder whose clock is years behind renews all the same.
    write("other", `1999-01-01T00:00:${i + 10}.000000Z`);
    await clock.advance(10_000);
  }
  expect(log).toEqual(["begins", "held by other", "ends"]);
  await clock.advance(20_000);
  expect(log).toEqual(["begins", "held by other", "ends", "begins"]);
  await end();
});

test("does not start before it has read the lease, and continues while it cannot read it", async () => {
  const { clock, log, away, end } = setUp({ isAway: true });
  await clock.advance(60_000);
  expect(log).toEqual([]);
  away(false);
  await clock.advance(4_000);
  away(true);
  await clock.advance(60_000);
  expect(log).toEqual(["begins"]);
  await end();
});

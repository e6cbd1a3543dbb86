import { describe, expect, test } from "vitest";
import type { Lease } from "../../api/meta/objects.ts";
import { conflict, notFound } from "../../api/meta/status-error.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { TransportError } from "../transport/transport.ts";
import { type LeaderElectionOptions, runWhileLeader } from "./leader-election.ts";

const leases = { group: "coordination.k8s.io", plural: "leases" };

/** A server with one lease that can be unreachable or unresponsive. */
function createLeaseServer() {
  let lease: Lease | undefined;
  let revision = 0;
  let state: "up" | "unreachable" | "unresponsive" = "up";

  async function answer<T>(signal: AbortSignal | undefined, act: () => T): Promise<T> {
    signal?.throwIfAborted();
    if (state === "unreachable") throw new TransportError("unreachable");
    if (state === "unresponsive") {
      await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    }
    return act();
  }
  const store = (next: Lease) => {
    lease = { ...next, metadata: { ...next.metadata, resourceVersion: String(++revision) } };
    return lease;
  };
  const client = {
    get: (_: unknown, __: unknown, options?: { signal?: AbortSignal }) =>
      answer(options?.signal, () => {
        if (!lease) throw notFound(leases, "l");
        return lease;
      }),
    create: (_: unknown, object: Lease, options?: { signal?: AbortSignal }) =>
      answer(options?.signal, () => {
        if (lease) throw conflict(leases, "l", "exists");
        return store(object);
      }),
    update: (_: unknown, object: Lease, options?: { signal?: AbortSignal }) =>
      answer(options?.signal, () => {
        if (object.metadata.resourceVersion !== lease?.metadata.resourceVersion)
          throw conflict(leases, "l", "stale");
        return store(object);
      }),
  } as LeaderElectionOptions["client"];
  return {
    client,
    holder: () => lease?.spec?.holderIdentity,
    write: (spec: Lease["spec"]) =>
      store({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: {}, spec }),
    annotate: (note: string) =>
      lease && store({ ...lease, metadata: { ...lease.metadata, annotations: { note } } }),
    annotation: () => lease?.metadata.annotations?.note,
    become: (next: typeof state) => {
      state = next;
    },
  };
}

const clock = createManualClock(1_000_000);

function startCandidate(server: ReturnType<typeof createLeaseServer>, identity: string) {
  const stop = new AbortController();
  const log: string[] = [];
  let end: (() => void) | undefined;
  const options = {
    client: server.client,
    namespace: "ns",
    name: "l",
    identity,
    clock,
    logger: silentLogger,
    random: () => 0,
  };
  const startedAt = clock.now();
  const running = runWhileLeader(
    options,
    async (signal) => {
      log.push(`${clock.now() - startedAt} leads`);
      await new Promise<void>((resolve) => {
        end = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      log.push(`${clock.now() - startedAt} ${signal.aborted ? "stopped" : "done"}`);
    },
    stop.signal,
  );
  return {
    log,
    running,
    end: () => end?.(),
    async stop() {
      stop.abort();
      await running;
    },
  };
}

describe("runWhileLeader", () => {
  test("leads immediately, renews every two seconds, and releases when stopped", async () => {
    const server = createLeaseServer();
    const { log, stop } = startCandidate(server, "a");
    await clock.advance(60_000);
    expect(log).toEqual(["0 leads"]);
    expect(server.holder()).toBe("a");
    await stop();
    expect(log.at(-1)).toBe("60000 stopped");
    expect(server.holder()).toBe("");
    expect(clock.sleeping()).toBe(0);
  });

  test("measures how long a lease is unchanged, regardless of the times in it", async () => {
    const server = createLeaseServer();
    server.write({ holderIdentity: "b", leaseDurationSeconds: 15, renewTime: "1999-01-01T00:00:00.000000Z" });
    const { log, stop } = startCandidate(server, "a");
    await clock.advance(10_000);
    server.write({ holderIdentity: "b", leaseDurationSeconds: 15, renewTime: "1999-01-01T00:00:01.000000Z" });
    await clock.advance(24_000);
    // The change is observed at 10 s or 12 s, the lease expires 15 s later, and the next attempt acquires it.
    expect(log).toEqual(["28000 leads"]);
    await stop();
  });

  test.each(["unreachable", "unresponsive"] as const)(
    "stops leading after ten seconds with a server that is %s",
    async (state) => {
      const server = createLeaseServer();
      const { log, stop } = startCandidate(server, "a");
      await clock.advance(4_000);
      server.become(state);
      await clock.advance(9_999);
      expect(log).toEqual(["0 leads"]);
      await clock.advance(2_001);
      expect(log[1]).toBe("14000 stopped");
      server.become("up");
      await clock.advance(12_000);
      expect(log.at(-1)).toMatch(/leads$/);
      expect(log).toHaveLength(3);
      await stop();
    },
  );

  test("stops when another process holds the lease", async () => {
    const server = createLeaseServer();
    const { log, stop } = startCandidate(server, "a");
    await clock.advance(1_000);
    server.write({ holderIdentity: "b", leaseDurationSeconds: 15, renewTime: "x" });
    // The first renewal conflicts and reads the new holder.
    await clock.advance(1_000);
    expect(log).toEqual(["0 leads", "2000 stopped"]);
    await stop();
    expect(server.holder()).toBe("b");
  });

  test("keeps a lease that is annotated before each renewal, with its annotations", async () => {
    const server = createLeaseServer();
    const { log, stop } = startCandidate(server, "a");
    for (let second = 0; second < 30; second++) {
      server.annotate(String(second));
      await clock.advance(1_000);
    }
    expect(log).toEqual(["0 leads"]);
    expect(server.annotation()).toBe("29");
    await stop();
    expect(server.annotation()).toBe("29");
  });

  test("lets one of many candidates lead, and the next one after it", async () => {
    const server = createLeaseServer();
    const candidates = ["a", "b", "c"].map((identity) => startCandidate(server, identity));
    await clock.advance(20_000);
    const leading = () => candidates.filter(({ log }) => log.at(-1)?.endsWith("leads"));
    expect(leading()).toHaveLength(1);
    const first = leading()[0];
    first?.end();
    await first?.running;
    await clock.advance(2_000);
    expect(leading()).toHaveLength(1);
    expect(leading()[0]).not.toBe(first);
    for (const candidate of candidates) await candidate.stop();
  });

  test("rethrows errors of the work after releasing the lease", async () => {
    const server = createLeaseServer();
    const options = {
      client: server.client,
      namespace: "ns",
      name: "l",
      identity: "a",
      clock,
      logger: silentLogger,
    };
    const work = async () => {
      throw new Error("broken work");
    };
    await expect(runWhileLeader(options, work, new AbortController().signal)).rejects.toThrow("broken work");
    expect(server.holder()).toBe("");
  });

  test("releases the lease when stopped during a renewal", async () => {
    const server = createLeaseServer();
    const { stop } = startCandidate(server, "a");
    await clock.advance(1_000);
    server.become("unresponsive");
    await clock.advance(1_500);
    const stopped = stop();
    server.become("up");
    await stopped;
    expect(server.holder()).toBe("");
  });

  test("rejects durations that would allow two leaders", async () => {
    const { client } = createLeaseServer();
    const options = { client, namespace: "ns", name: "l", identity: "a", clock, logger: silentLogger };
    await expect(
      runWhileLeader({ ...options, leaseDurationMs: 5_000 }, async () => {}, new AbortController().signal),
    ).rejects.toThrow("leaseDurationMs must be greater than renewDeadlineMs");
  });
});

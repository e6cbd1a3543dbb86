import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { runWhileLeader } from "../../src/client/leader-election/leader-election.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

const namespace = "kube-system";

describe("two candidates", () => {
  let server: TestServer;
  let client: Client;
  beforeAll(async () => {
    server = await startTestServer();
    client = await connectCluster({ kubeconfig: server.kubeconfig });
  });
  afterAll(async () => {
    client.close();
    await server.close();
  });

  function stand(name: string, identity: string, leaders: Set<string>) {
    const stop = new AbortController();
    let most = 0;
    let ledAt: number | undefined;
    const options = {
      client,
      namespace,
      name,
      identity,
      clock: systemClock,
      logger: silentLogger,
      // Longer than a test waits: none takes over because a lease ran out.
      leaseDurationMs: 600_000,
      renewDeadlineMs: 300_000,
      retryPeriodMs: 50,
    };
    const work = async (signal: AbortSignal) => {
      leaders.add(identity);
      ledAt ??= Date.now();
      most = Math.max(most, leaders.size);
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      // Stopping takes a while, during which no other candidate may lead.
      await delay(100);
      leaders.delete(identity);
    };
    const ended = runWhileLeader(options, work, stop.signal);
    return { stop: () => stop.abort(), ended, most: () => most, ledAt: () => ledAt };
  }

  test("have one leader, and the other takes over immediately after a clean stop", async () => {
    const leaders = new Set<string>();
    const candidates = ["a", "b"].map((identity) => ({ identity, ...stand("clean", identity, leaders) }));
    await expect.poll(() => leaders.size).toBe(1);
    await delay(300);
    const [leader] = leaders;
    const [first, second] = candidates.sort((a) => (a.identity === leader ? -1 : 1));

    first?.stop();
    await first?.ended;
    await expect.poll(() => [...leaders]).toEqual([second?.identity]);
    const lease = await client.get("leases", { namespace, name: "clean" });
    expect(lease.spec).toMatchObject({
      holderIdentity: second?.identity,
      leaseTransitions: 1,
      leaseDurationSeconds: 600,
    });

    second?.stop();
    await second?.ended;
    expect((await client.get("leases", { namespace, name: "clean" })).spec?.holderIdentity ?? "").toBe("");
    for (const candidate of candidates) expect(candidate.most()).toBe(1);
  });

  test("wait until the lease of a killed leader expires", async () => {
    const now = new Date().toISOString().replace("Z", "000Z");
    await client.create("leases", {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { namespace, name: "vanished" },
      spec: { holderIdentity: "gone", leaseDurationSeconds: 1, renewTime: now, leaseTransitions: 4 },
    });
    const leaders = new Set<string>();
    const candidates = ["a", "b"].map((identity) => stand("vanished", identity, leaders));
    await expect.poll(() => leaders.size).toBe(1);
    const ledAt = candidates.map((candidate) => candidate.ledAt() ?? Infinity);
    expect(Math.min(...ledAt)).toBeGreaterThanOrEqual(Date.parse(now) + 1_000);
    expect((await client.get("leases", { namespace, name: "vanished" })).spec?.leaseTransitions).toBe(5);
    for (const candidate of candidates) candidate.stop();
    await Promise.all(candidates.map((candidate) => candidate.ended));
    for (const candidate of candidates) expect(candidate.most()).toBeLessThanOrEqual(1);
  });
});

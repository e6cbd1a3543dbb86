import { join } from "node:path";
import { expect, test } from "vitest";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { runWhileLeader } from "../../src/client/leader-election/leader-election.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createScheduler } from "../../src/scheduler/scheduler.ts";
import { makeNode, namespace, useSchedulerCluster } from "../support/cluster/scheduler-cluster.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { ownPort } from "../support/network/own-share.ts";
import { startServerProcess } from "../support/servers/server-process.ts";

const folder = temporaryFolder();
const cluster = useSchedulerCluster();
const { createPod, startScheduler, untilBound, untilRefused } = cluster;

test("a restarted scheduler counts bound pods and schedules pending ones", async () => {
  await cluster.client.create("nodes", makeNode("a"));
  const end = startScheduler();
  await createPod("first", { cpu: "1500m" });
  await untilBound("first");
  await end();
  await createPod("fits", { cpu: "500m" });
  await createPod("does-not", { cpu: "600m" });
  startScheduler();
  await untilBound("fits");
  await untilRefused("does-not", "1 Insufficient cpu");
});

test("the scheduler reconnects to a server that was killed and restarted", async () => {
  const dataDir = join(folder, "data");
  // A port that stays free while the server is stopped.
  const args = ["--data-dir", dataDir, "--listen", `127.0.0.1:${await ownPort()}`];
  const first = await startServerProcess(args);
  const over = await connectCluster({ kubeconfig: first.kubeconfig });
  await over.create("nodes", makeNode("a"));
  const end = startScheduler({ over });
  await createPod("before", {}, over);
  const bound = async (name: string) => (await over.get("pods", { namespace, name })).spec?.nodeName;
  await expect.poll(() => bound("before")).toBe("a");
  first.kill("SIGKILL");
  await first.exit;

  const second = await startServerProcess(args);
  await createPod("after", {}, over);
  // Watches come back after a while that grows with each try that fails.
  await expect.poll(() => bound("after"), { timeout: 60_000 }).toBe("a");
  await end();
  over.close();
  first.disconnect();
  second.disconnect();
  second.kill("SIGTERM");
  await second.exit;
});

test("one of two schedulers leads, and the other takes over", async () => {
  await cluster.client.create("nodes", makeNode("a"));
  const working = new Set<string>();
  const candidates = ["x", "y"].map((identity) => {
    const stop = new AbortController();
    const scheduler = createScheduler({ client: cluster.own, clock: systemClock, logger: silentLogger });
    const election = {
      client: cluster.own,
      namespace: "kube-system",
      name: "kube-scheduler",
      identity,
      clock: systemClock,
      logger: silentLogger,
      // Longer than a test waits: none takes over because a lease ran out.
      leaseDurationMs: 600_000,
      renewDeadlineMs: 300_000,
      retryPeriodMs: 50,
    };
    const ended = runWhileLeader(
      election,
      async (signal) => {
        working.add(identity);
        await scheduler.run(signal);
        working.delete(identity);
      },
      stop.signal,
    );
    const end = async () => {
      stop.abort();
      await ended;
    };
    cluster.afterwards(end);
    return { identity, end };
  });
  await createPod("one");
  await untilBound("one");
  expect(working.size).toBe(1);
  const leader = candidates.find(({ identity }) => working.has(identity));
  await leader?.end();
  await createPod("two");
  await untilBound("two");
  expect(working).toEqual(
    new Set(candidates.map(({ identity }) => identity).filter((id) => id !== leader?.identity)),
  );
});

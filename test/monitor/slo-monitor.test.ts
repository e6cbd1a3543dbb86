import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { renderSloReport } from "../../src/cli/commands/monitor-report.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { parseMonitorConfiguration } from "../../src/monitor/configuration/monitor-configuration.ts";
import { createMonitorService } from "../../src/monitor/monitor-service.ts";
import { fetchSloReport } from "../../src/monitor/report/slo-report.ts";
import { startMonitorServer } from "../../src/monitor/server/monitor-server.ts";
import { openLmdbStore } from "../../src/store/lmdb/lmdb-store.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { untilObserving } from "../support/monitor/running-monitor.ts";
import { isReady, useSimulatedNode } from "../support/node/simulated-node.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { startPrometheus } from "../support/servers/prometheus-server.ts";

const configuration = parseMonitorConfiguration(
  `
chosenLabels: [team]
objectives:
  - { name: sandboxes, kind: success, measure: first-sandbox, deadline: 8s, target: 90%, window: 1h }
  - { name: starts, kind: latency, measure: start, threshold: 10m, target: 99% }
`,
  "monitor.yaml",
);
const containers = [{ name: "c", image: "web:1" }];
/** Objectives are reviewed every 5 s. */
const settled = { timeout: 200_000 };

/** The parts of `kindling monitor` on a cluster of simulated containers, one of whose runtimes is broken. */
describe("KEP-3085 objectives, on a real cluster", () => {
  const folder = temporaryFolder();
  const fixture = useSimulatedNode();
  const closing: (() => Promise<unknown> | unknown)[] = [];
  let url = "";

  async function startMonitor(): Promise<void> {
    const { server } = fixture.node;
    const dataDir = join(folder, "monitor");
    await mkdir(dataDir, { recursive: true });
    const store = await openLmdbStore({ directory: join(dataDir, "starts") });
    closing.push(() => store.close());
    const client = await connectCluster({ kubeconfig: server.kubeconfig });
    closing.push(() => client.close());
    const common = { client, clock: systemClock, logger: silentLogger };
    const service = await createMonitorService({
      ...common,
      store,
      dataDir,
      configuration,
      server: "test",
      goodAfterMs: 2_000,
    });
    const stop = new AbortController();
    const done = service.run(stop.signal);
    closing.push(() => {
      stop.abort(new Error("the test stops the monitor"));
      return done;
    });
    const listening = await startMonitorServer({
      ...common,
      listen: { host: "127.0.0.1", port: 0 },
      parts: service.parts,
    });
    closing.push(() => listening.close());
    url = listening.url;
    await service.monitor.synced;
    await untilObserving(service.monitor);
  }

  async function stopMonitor(): Promise<void> {
    for (const close of closing.splice(0).reverse()) await close();
  }

  beforeAll(async () => {
    const { node, simulated } = fixture;
    simulated.handlers.add("microvm");
    await node.client.create("runtimeclasses", {
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      metadata: { name: "microvm" },
      handler: "microvm",
    });
    simulated.rules.add({ match: { handler: "microvm" }, sandbox: { error: "no hypervisor" } });
    await startMonitor();
    for (const name of ["a", "b", "c"]) {
      await node.run(name, { containers });
      await node.until(name, isReady);
    }
    await node.run("broken", { containers, runtimeClassName: "microvm" });
  });
  afterAll(stopMonitor);

  const { signal } = new AbortController();
  const report = () => fetchSloReport({ url, signal });

  test("3085-13: a pod whose runtime never gets its sandbox breaches the objective, and the runtime stands out in report and metrics", async () => {
    await expect.poll(report, settled).toMatchObject([
      { name: "sandboxes", good: 3, total: 4, budgetLeft: -1.5, burnRate: 2.5 },
      { name: "starts", good: 3, total: 3, budgetLeft: 1, breaches: [] },
    ]);
    const [sandboxes] = await report();
    expect(sandboxes?.breaches[0]).toEqual({ class: "RuntimeClass microvm", bad: 1, total: 1 });
    const text = renderSloReport(await report());
    expect(text).toMatch(
      /^sandboxes +breached +75% +90% +-150% +2\.5x +1\/4 +90% of first sandboxes succeed/m,
    );
    expect(text).toMatch(/sandboxes: classes with the most breaches\n.*\n {2}RuntimeClass microvm +1 of 1\n/);
    const metrics = await (await fetch(new URL("/metrics", url))).text();
    expect(metrics).toContain('kindling_slo_error_budget_left_ratio{slo="sandboxes"} -1.5');
    expect(metrics).toContain(
      'kindling_slo_class_events_total{slo="sandboxes",dimension="RuntimeClass",class="microvm",result="bad"} 1',
    );
  });

  test("3085-13: a restarted monitor keeps its counts and counts nothing twice", async () => {
    await stopMonitor();
    await startMonitor();
    await expect.poll(report, settled).toMatchObject([
      { name: "sandboxes", good: 3, total: 4 },
      { name: "starts", good: 3, total: 3 },
    ]);
    await fixture.node.run("d", { containers });
    await expect.poll(report, settled).toMatchObject([
      { name: "sandboxes", good: 4, total: 5 },
      { name: "starts", good: 4, total: 4 },
    ]);
  });

  describeWithTool("prometheus", "scraped by a real Prometheus", () => {
    test("3085-12 3085-13: answers story 1: first sandboxes by RuntimeClass, budget, and what breaches it", async () => {
      const prometheus = await startPrometheus({ target: new URL(url).host });
      try {
        const query = async (label: string, expression: string) =>
          (await prometheus.query(expression)).map(({ labels, value }) => [labels[label], value]);
        await fixture.node.run("e", { containers });
        const counts = "sum by (runtime_class) (kindling_pod_first_sandbox_seconds_count)";
        await expect.poll(() => query("runtime_class", counts)).toEqual([["<none>", 2]]);
        await expect
          .poll(() => query("slo", 'kindling_slo_error_budget_left_ratio{slo="sandboxes"}'))
          .toEqual([["sandboxes", expect.closeTo(1 - 1 / 6 / 0.1, 3)]]);
        const exemplars = () => prometheus.exemplars("kindling_pod_first_sandbox_seconds_bucket");
        await expect.poll(exemplars).toContainEqual({ namespace: "default", pod: "e" });
      } finally {
        await prometheus.stop();
      }
    });
  });
});

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { parseMonitorConfiguration } from "../../src/monitor/configuration/monitor-configuration.ts";
import type { StartSignal } from "../../src/monitor/measure/start-signal.ts";
import { podStart } from "../../src/monitor/metrics/pod-start.fixture.ts";
import { createStartMetrics } from "../../src/monitor/metrics/start-metrics.ts";
import { createTraceExporter, registerTraceMetrics } from "../../src/monitor/otlp/trace-exporter.ts";
import { alwaysAvailable } from "../../src/monitor/slo/always-available.fixture.ts";
import { registerSloMetrics } from "../../src/monitor/slo/run-slo-tracker.ts";
import { createSloTracker } from "../../src/monitor/slo/slo-tracker.ts";
import { describeWithTool, toolPath } from "../support/programs/tools.ts";
import { type PrometheusServer, startPrometheus } from "../support/servers/prometheus-server.ts";

const shipped = resolve("examples/prometheus");
const read = (name: string) => readFile(join(shipped, name), "utf8");

/** All measurements of the monitor, with the example objectives. */
async function createMetrics() {
  const clock = systemClock;
  const { objectives, chosenLabels } = parseMonitorConfiguration(await read("monitor.yaml"), "monitor.yaml");
  const metrics = createStartMetrics({ clock, chosen: chosenLabels, podSeries: { limit: 100 } });
  const slos = createSloTracker({ objectives, clock, starting: () => [], ...alwaysAvailable(clock) });
  registerSloMetrics(metrics, slos);
  const endpoint = "http://127.0.0.1:1/v1/traces";
  registerTraceMetrics(metrics.registry, createTraceExporter({ endpoint, clock, logger: silentLogger }));
  return {
    scrape: metrics.scrape,
    observe(signal: StartSignal) {
      metrics.observe(signal);
      slos.observe(signal);
    },
  };
}

/** A healthy class of pods and one whose StorageClass is broken, as story 1 has them: each kind of signal once. */
function signalsOf(round: number): StartSignal[] {
  const pod = (name: string) => ({ uid: `${name}-${round}`, name: `${name}-${round}` });
  const start = podStart({
    pod: pod("web"),
    class: { runtimeClass: "runc", storageClasses: ["fast"], volumes: 1, chosen: { team: "web" } },
  });
  const slow = podStart({
    pod: pod("db"),
    class: {
      runtimeClass: "microvm",
      storageClasses: ["encrypted"],
      volumes: 3,
      chosen: { team: "database" },
    },
  });
  const wrong = podStart({ pod: pod("wrong"), userError: "MissingSecret" });
  return [
    { kind: "sandbox", start, first: true, seconds: 0.4, endedMs: 0 },
    { kind: "sandbox", start: slow, first: true, seconds: 50, endedMs: 0 },
    { kind: "sandbox", start: wrong, first: true, seconds: 3_000, endedMs: 0 },
    { kind: "sandbox", start, first: false, seconds: 1, endedMs: 0 },
    { kind: "stage", start, stage: "scheduling", seconds: 0.05, endedMs: 0 },
    { kind: "ready", start, seconds: 2, endedMs: 0 },
    { kind: "pull", start, image: "web:1", seconds: 1.5, bytes: 1_000 },
    { kind: "restart", start, container: "c" },
    { kind: "stuck", start: slow, stage: "sandbox" },
    { kind: "user-error", start: wrong, reason: "MissingSecret" },
    { kind: "terminated", start, seconds: 1, endedMs: 0 },
    { kind: "abandoned", start: slow, stage: "sandbox" },
    { kind: "unknown", start, what: "sandbox" },
  ];
}

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly record?: string; readonly expr: string }[];
  }[];
}

test("3085-12: every metric that rules, alerts and the Grafana dashboard name is one that the monitor has", async () => {
  const metrics = await createMetrics();
  for (const signal of signalsOf(0)) metrics.observe(signal);
  const text = String((await metrics.scrape()).body);
  const known = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name));
  const rules = [await read("rules.yml"), await read("alerts.yml")].flatMap((file) =>
    (parse(file) as Rules).groups.flatMap((group) => group.rules),
  );
  const recorded = new Set(rules.flatMap(({ record }) => record ?? []));
  const expressions = [
    ...rules.map(({ expr }) => expr),
    ...[...(await read("grafana-dashboard.json")).matchAll(/"(?:expr|query)": "((?:[^"\\]|\\.)*)"/g)].map(
      ([, expr]) => expr ?? "",
    ),
  ];
  expect(expressions.length).toBeGreaterThan(30);
  const named = new Set(
    expressions.flatMap((expr) => expr.match(/\b(\w+:)?(kindling|process)_[\w:]+/g) ?? []),
  );
  expect(named.size).toBeGreaterThan(20);
  const missing = [...named].filter(
    (name) => !recorded.has(name) && !known.has(name) && !known.has(name.replace(/_(bucket|sum|count)$/, "")),
  );
  expect(missing).toEqual([]);
});

describeWithTool("promtool", "files for Prometheus", () => {
  const promtool = (args: readonly string[], input = "") =>
    new Promise<{ code: number; output: string }>((resolved) => {
      const child = execFile(toolPath("promtool"), args, { cwd: shipped }, (error, stdout, stderr) =>
        resolved({ code: Number(error?.code ?? 0), output: stdout + stderr }),
      );
      child.stdin?.end(input);
    });

  test("3085-12: promtool reports no problems with the metrics", async () => {
    const metrics = await createMetrics();
    for (const signal of signalsOf(0)) metrics.observe(signal);
    const text = String((await metrics.scrape("text/plain")).body);
    expect(text).toContain("kindling_per_pod_first_sandbox_seconds{");
    expect(await promtool(["check", "metrics"], text)).toEqual({ code: 0, output: "" });
  });

  test.each([
    ["configuration and rules are valid", ["check", "config", "prometheus.yml"]],
    ["3085-13: rules record and alerts fire as they should", ["test", "rules", "rules-test.yml"]],
  ])("%s", async (_, args) => {
    const { code, output } = await promtool(args);
    expect(output).toContain("SUCCESS");
    expect(code).toBe(0);
  });
});

describeWithTool("prometheus", "a real Prometheus", () => {
  let prometheus: PrometheusServer;
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    const metrics = await createMetrics();
    let round = 0;
    // More at each scrape, so that there is a rate.
    const server = createServer(async (request, response) => {
      for (const signal of signalsOf(round++)) metrics.observe(signal);
      const { contentType, body } = await metrics.scrape(request.headers.accept);
      response.writeHead(200, { "content-type": contentType }).end(body);
    });
    await new Promise<void>((resolved) => server.listen(0, "127.0.0.1", resolved));
    closing.push(() => new Promise((resolved) => server.close(resolved)));
    closing.push(async () => server.closeAllConnections());
    prometheus = await startPrometheus({ target: `127.0.0.1:${(server.address() as AddressInfo).port}` });
    closing.push(() => prometheus.stop());
  });
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
  });

  /** Rounded values of a query by one label. */
  const byLabel = async (label: string, expression: string) =>
    Object.fromEntries(
      (await prometheus.query(expression)).map(({ labels, value }) => [labels[label], Math.round(value)]),
    );
  const p99 = (by: string) =>
    `histogram_quantile(0.99, sum by (le, ${by}) (rate(kindling_pod_first_sandbox_seconds_bucket[1m])))`;

  // 50 s lie in the bucket up to 60, 0.4 in that up to 0.5.
  test.each([
    ["RuntimeClass", "runtime_class", { runc: 0, microvm: 60 }],
    ["StorageClass", "storage_class", { fast: 0, encrypted: 60 }],
    ["number of volumes", "volumes", { 1: 0, "3-5": 60 }],
    ["a label that the operator chose", "pod_team", { web: 0, database: 60 }],
    ["namespace", "namespace", { shop: 59 }],
  ])(
    "3085-12: story 1: p99 of the first sandbox by %s, without users' errors",
    async (_, label, expected) => {
      await expect.poll(() => byLabel(label, p99(label))).toEqual(expected);
    },
  );

  test("3085-12: every query of the Grafana dashboard is one that Prometheus answers, and all have one", async () => {
    const dashboard = JSON.parse(await read("grafana-dashboard.json")) as {
      panels: { title: string; targets?: { expr: string }[] }[];
    };
    const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({
        title,
        expr: expr.replaceAll("$__rate_interval", "1m").replaceAll("$namespace", ".*"),
      })),
    );
    expect(queries.length).toBeGreaterThan(15);
    const silent = async () => {
      const answers = queries.map(async ({ title, expr }) =>
        (await prometheus.query(expr)).length ? [] : title,
      );
      return (await Promise.all(answers)).flat();
    };
    await expect.poll(silent).toEqual([]);
  });

  test("3085-12: story 1: the latency of each pod", async () => {
    const query = 'max by (namespace) (kindling_per_pod_first_sandbox_seconds{pod=~"wrong-.*"})';
    await expect.poll(() => byLabel("namespace", query)).toEqual({ shop: 3_000 });
  });

  test("3085-12: recorded rules have values", async () => {
    await expect
      .poll(() => byLabel("storage_class", "storage_class:kindling_pod_first_sandbox_seconds:p99_5m"))
      .toEqual({ fast: 0, encrypted: 60 });
  });

  test("3085-12: exemplars name the pods", async () => {
    await expect
      .poll(
        async () =>
          await prometheus.exemplars('kindling_pod_first_sandbox_seconds_bucket{runtime_class="microvm"}'),
      )
      .toContainEqual({ namespace: "shop", pod: expect.stringMatching(/^db-\d+$/) });
  });

  test("3085-13: the class that breaches an objective stands out, and its budget burns", async () => {
    const worst =
      'topk(1, sum by (class) (kindling_slo_class_events_total{slo="sandbox-latency",dimension="StorageClass",result="bad"}))';
    await expect.poll(async () => Object.keys(await byLabel("class", worst))).toEqual(["encrypted"]);
    // Half of them are bad where one of a hundred may be.
    await expect
      .poll(() => byLabel("slo", 'slo:kindling_slo_burn_rate:5m{slo="sandbox-latency"}'))
      .toEqual({
        "sandbox-latency": 50,
      });
    await expect
      .poll(() => byLabel("slo", 'ALERTS{alertname="PodStartBudgetBurnsFast",slo="sandbox-latency"}'))
      .toEqual({ "sandbox-latency": 1 });
  });
});

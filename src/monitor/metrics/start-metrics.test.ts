import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import type { StartSignal } from "../measure/start-signal.ts";
import { podStart } from "./pod-start.fixture.ts";
import {
  chooseFormat,
  createStartMetrics,
  createTextCounter,
  encodePieces,
  type StartMetricsOptions,
  toOpenMetrics,
} from "./start-metrics.ts";

const start = podStart({ class: { runtimeClass: "kata", storageClasses: ["fast"], volumes: 1 } });
const ofClass =
  'namespace="shop",owner_kind="StatefulSet",runtime_class="kata",storage_class="fast",volumes="1"';

async function linesAfter(signals: readonly StartSignal[], options: Partial<StartMetricsOptions> = {}) {
  const metrics = createStartMetrics({ clock: createManualClock(), ...options });
  for (const signal of signals) metrics.observe(signal);
  return String((await metrics.scrape()).body).split("\n");
}

test.each<[StartSignal, string]>([
  [
    { kind: "stage", start, stage: "init", seconds: 2, endedMs: 0 },
    `kindling_pod_start_stage_seconds_sum{stage="init",${ofClass}} 2`,
  ],
  [
    { kind: "sandbox", start, first: true, seconds: 3, endedMs: 0 },
    `kindling_pod_first_sandbox_seconds_sum{${ofClass}} 3`,
  ],
  [
    { kind: "sandbox", start, first: false, seconds: 4, endedMs: 0 },
    `kindling_pod_sandbox_recreation_seconds_sum{${ofClass}} 4`,
  ],
  [{ kind: "ready", start, seconds: 5, endedMs: 0 }, `kindling_pod_start_seconds_sum{${ofClass}} 5`],
  [
    { kind: "pull", start, image: "web:1", seconds: 6, bytes: undefined },
    `kindling_image_pull_seconds_sum{${ofClass}} 6`,
  ],
  [
    { kind: "pull", start, image: "web:1", seconds: 6, bytes: 700 },
    `kindling_image_pull_bytes_total{${ofClass}} 700`,
  ],
  [
    { kind: "terminated", start, seconds: 7, endedMs: 0 },
    `kindling_pod_termination_seconds_sum{${ofClass}} 7`,
  ],
  [{ kind: "restart", start, container: "c" }, `kindling_container_restarts_total{${ofClass}} 1`],
  [{ kind: "stuck", start, stage: "sandbox" }, `kindling_pods_stuck_total{${ofClass},stage="sandbox"} 1`],
  [
    { kind: "abandoned", start, stage: "sandbox" },
    `kindling_pod_starts_abandoned_total{${ofClass},stage="sandbox"} 1`,
  ],
  [
    { kind: "user-error", start, reason: "FailedMount" },
    `kindling_pod_user_errors_total{${ofClass},reason="FailedMount"} 1`,
  ],
  [
    { kind: "unknown", start, what: "sandbox" },
    `kindling_pod_lengths_unknown_total{${ofClass},what="sandbox"} 1`,
  ],
])("3085-12: counts %j by its class", async (signal, line) => {
  expect(await linesAfter([signal])).toContain(line);
});

test("3085-12: a pod with a user error does not count as stuck", async () => {
  const lines = await linesAfter([
    { kind: "user-error", start: podStart({ userError: "MissingSecret" }), reason: "MissingSecret" },
    { kind: "stuck", start: podStart({ userError: "MissingSecret" }), stage: "sandbox" },
  ]);
  const counters = lines.filter((line) => line.startsWith("kindling_pod")).map((line) => line.split("{")[0]);
  expect(counters).toEqual(["kindling_pod_user_errors_total"]);
});

test("3085-12: excludes starts delayed by user errors from histograms, except terminations", async () => {
  const held = podStart({ userError: "FailedMount" });
  const lines = await linesAfter([
    { kind: "stage", start: held, stage: "sandbox", seconds: 900, endedMs: 0 },
    { kind: "sandbox", start: held, first: true, seconds: 900, endedMs: 0 },
    { kind: "sandbox", start: held, first: false, seconds: 900, endedMs: 0 },
    { kind: "ready", start: held, seconds: 900, endedMs: 0 },
    { kind: "terminated", start: held, seconds: 1, endedMs: 0 },
  ]);
  const counts = lines.filter((line) => /^kindling_.*_count/.test(line)).map((line) => line.split("{")[0]);
  expect(counts).toEqual(["kindling_pod_termination_seconds_count"]);
});

test("3085-12: names the pod in exemplars of OpenMetrics", async () => {
  const metrics = createStartMetrics({ clock: createManualClock(1_000) });
  metrics.observe({ kind: "ready", start, seconds: 2, endedMs: 0 });
  const { contentType, body } = await metrics.scrape("application/openmetrics-text;version=1.0.0");
  const text = String(body);
  expect(contentType).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
  expect(text).toContain(`le="2",${ofClass}} 1 # {namespace="shop",pod="web-0"} 2 1\n`);
  expect(text.endsWith("# EOF\n")).toBe(true);
  const older = await metrics.scrape("text/plain");
  expect(older.contentType).toContain("text/plain");
  expect(String(older.body)).not.toContain("web-0");
});

test("writes a valid exemplar for a name of any length and content", async () => {
  const metrics = createStartMetrics({ clock: createManualClock() });
  const pod = { namespace: "n".repeat(63), name: `"}\n${"p".repeat(250)}` };
  metrics.observe({ kind: "ready", start: podStart({ pod }), seconds: 2, endedMs: 0 });
  const text = String((await metrics.scrape("application/openmetrics-text")).body);
  const [, labels = ""] = /# \{pod="(.*)"\} 2 0$/m.exec(text) ?? [];
  expect(labels).toBe(`\\"}\\n${"p".repeat(122)}`);
});

test("3085-12: writes series for each pod only if enabled, up to the limit, and removes them with the pod", async () => {
  const observed = (uid: string): StartSignal[] => {
    const one = podStart({ pod: { uid, name: `web-${uid}` } });
    return [
      { kind: "sandbox", start: one, first: true, seconds: 1, endedMs: 0 },
      { kind: "ready", start: one, seconds: 2, endedMs: 0 },
    ];
  };
  const all = ["a", "b", "c"].flatMap(observed);
  expect((await linesAfter(all)).join()).not.toContain("kindling_per_pod");

  const metrics = createStartMetrics({ clock: createManualClock(), podSeries: { limit: 2 } });
  const pods = async () =>
    String((await metrics.scrape()).body)
      .match(/^kindling_per_pod_\w+\{.*?pod="web-\w"/gm)
      ?.map((line) => line.slice(-6, -1));
  for (const signal of all) metrics.observe(signal);
  expect(await pods()).toEqual(["web-b", "web-c", "web-b", "web-c"]);
  metrics.observe({ kind: "terminated", start: podStart({ pod: { uid: "b" } }), seconds: 1, endedMs: 0 });
  expect(await pods()).toEqual(["web-c", "web-c"]);
  metrics.forget("c");
  expect(await pods()).toBeUndefined();
});

test("3085-12: bounds the number of series by classes, not by pods", async () => {
  const signals = Array.from({ length: 3_000 }, (_, i): StartSignal => {
    const many = podStart({ class: { namespace: `n${i}`, runtimeClass: `r${i % 7}`, volumes: i % 20 } });
    return { kind: "sandbox", start: many, first: true, seconds: i % 50, endedMs: 0 };
  });
  const lines = await linesAfter(signals, { classes: 10 });
  const counts = lines.filter((line) => line.startsWith("kindling_pod_first_sandbox_seconds_count"));
  expect(counts).toHaveLength(21);
  const total = counts.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  expect(total).toBe(3_000);
});

test("counts by labels and omits _total from OpenMetrics descriptions", () => {
  const counter = createTextCounter({ name: "restarts_total", help: "Restarts" });
  counter.inc('a="1"');
  counter.inc('a="2"', 2.5);
  counter.inc('a="1"');
  const lines = 'restarts_total{a="1"} 2\nrestarts_total{a="2"} 2.5\n';
  expect(counter.render("prometheus")).toBe(
    `# HELP restarts_total Restarts\n# TYPE restarts_total counter\n${lines}`,
  );
  expect(counter.render("openmetrics")).toBe(`# HELP restarts Restarts\n# TYPE restarts counter\n${lines}`);
});

test.each([
  [undefined, "prometheus"],
  ["*/*", "prometheus"],
  ["text/plain;version=0.0.4", "prometheus"],
  [
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;q=0.5",
    "openmetrics",
  ],
  ["text/plain, application/openmetrics-text; q=0", "prometheus"],
])("responds to Accept: %s with %s", (accept, format) => {
  expect(chooseFormat(accept)).toBe(format);
});

test("removes _total only from the descriptions of counters", () => {
  const text = [
    "# HELP a_total How a_total many",
    "# TYPE a_total counter",
    'a_total{x="# TYPE a_total counter"} 1',
    "# HELP b_total Not a counter",
    "# TYPE b_total gauge",
    "b_total 2",
    "",
  ].join("\n");
  expect(toOpenMetrics(text)).toBe(
    [
      "# HELP a How a_total many",
      "# TYPE a counter",
      'a_total{x="# TYPE a_total counter"} 1',
      "# HELP b_total Not a counter",
      "# TYPE b_total gauge",
      "b_total 2",
      "",
    ].join("\n"),
  );
});

test("encodes pieces with multi-byte characters into one buffer", () => {
  expect(encodePieces(["a ü\n", "", "😀", "z"]).toString()).toBe("a ü\n😀z");
});

import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import type { StartSignal } from "../measure/start-signal.ts";
import { podStart } from "./pod-start.fixture.ts";
import { createStartMetrics, type StartMetricsOptions } from "./start-metrics.ts";

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
    { kind: "stage", start, stage: "init", seconds: 2 },
    `kindling_pod_start_stage_seconds_sum{stage="init",${ofClass}} 2`,
  ],
  [
    { kind: "sandbox", start, first: true, seconds: 3 },
    `kindling_pod_first_sandbox_seconds_sum{${ofClass}} 3`,
  ],
  [
    { kind: "sandbox", start, first: false, seconds: 4 },
    `kindling_pod_sandbox_recreation_seconds_sum{${ofClass}} 4`,
  ],
  [{ kind: "ready", start, seconds: 5 }, `kindling_pod_start_seconds_sum{${ofClass}} 5`],
  [
    { kind: "pull", start, image: "web:1", seconds: 6, bytes: undefined },
    `kindling_image_pull_seconds_sum{${ofClass}} 6`,
  ],
  [
    { kind: "pull", start, image: "web:1", seconds: 6, bytes: 700 },
    `kindling_image_pull_bytes_total{${ofClass}} 700`,
  ],
  [{ kind: "terminated", start, seconds: 7 }, `kindling_pod_termination_seconds_sum{${ofClass}} 7`],
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
])("3085-12: %j is counted by its class", async (signal, line) => {
  expect(await linesAfter([signal])).toContain(line);
});

test("3085-12: what a user's error held up is in no histogram of starts, but its end counts", async () => {
  const held = podStart({ userError: "FailedMount" });
  const lines = await linesAfter([
    { kind: "stage", start: held, stage: "sandbox", seconds: 900 },
    { kind: "sandbox", start: held, first: true, seconds: 900 },
    { kind: "sandbox", start: held, first: false, seconds: 900 },
    { kind: "ready", start: held, seconds: 900 },
    { kind: "terminated", start: held, seconds: 1 },
  ]);
  const counts = lines.filter((line) => /^kindling_.*_count/.test(line)).map((line) => line.split("{")[0]);
  expect(counts).toEqual(["kindling_pod_termination_seconds_count"]);
});

test("3085-12: exemplars name the pod, in the format that has them", async () => {
  const metrics = createStartMetrics({ clock: createManualClock(1_000) });
  metrics.observe({ kind: "ready", start, seconds: 2 });
  const { contentType, body } = await metrics.scrape("application/openmetrics-text;version=1.0.0");
  const text = String(body);
  expect(contentType).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
  expect(text).toContain(`le="2",${ofClass}} 1 # {namespace="shop",pod="web-0"} 2 1\n`);
  expect(text.endsWith("# EOF\n")).toBe(true);
  const older = await metrics.scrape("text/plain");
  expect(older.contentType).toContain("text/plain");
  expect(String(older.body)).not.toContain("web-0");
});

test("a name of any length and shape makes an exemplar that a scraper takes", async () => {
  const metrics = createStartMetrics({ clock: createManualClock() });
  const pod = { namespace: "n".repeat(63), name: `"}\n${"p".repeat(250)}` };
  metrics.observe({ kind: "ready", start: podStart({ pod }), seconds: 2 });
  const text = String((await metrics.scrape("application/openmetrics-text")).body);
  const [, labels = ""] = /# \{pod="(.*)"\} 2 0$/m.exec(text) ?? [];
  expect(labels).toBe(`\\"}\\n${"p".repeat(122)}`);
});

test("3085-12: series for each pod only if asked for, no more than asked for, and gone with the pod", async () => {
  const observed = (uid: string): StartSignal[] => {
    const one = podStart({ pod: { uid, name: `web-${uid}` } });
    return [
      { kind: "sandbox", start: one, first: true, seconds: 1 },
      { kind: "ready", start: one, seconds: 2 },
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
  metrics.observe({ kind: "terminated", start: podStart({ pod: { uid: "b" } }), seconds: 1 });
  expect(await pods()).toEqual(["web-c", "web-c"]);
  metrics.forget("c");
  expect(await pods()).toBeUndefined();
});

test("3085-12: as many lines as classes allow, however many pods there are", async () => {
  const signals = Array.from({ length: 3_000 }, (_, i): StartSignal => {
    const many = podStart({ class: { namespace: `n${i}`, runtimeClass: `r${i % 7}`, volumes: i % 20 } });
    return { kind: "sandbox", start: many, first: true, seconds: i % 50 };
  });
  const lines = await linesAfter(signals, { classes: 10 });
  const counts = lines.filter((line) => line.startsWith("kindling_pod_first_sandbox_seconds_count"));
  expect(counts).toHaveLength(21);
  const total = counts.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  expect(total).toBe(3_000);
});

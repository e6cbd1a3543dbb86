import { expect, test } from "vitest";
import type { Container, Event } from "../api/meta/objects.ts";
import type { KnownBudget } from "./explanation.ts";
import { findBudget } from "./find-budget.ts";

const startedMs = Date.parse("2026-01-01T00:00:00Z");
const at = (second: number) => new Date(startedMs + second * 1_000).toISOString();
const failed = (count: number, second: number, more: Partial<Event> = {}): Event => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: {},
  involvedObject: { fieldPath: "spec.containers{c}" },
  reason: "Unhealthy",
  message: "Startup probe failed: no",
  lastTimestamp: at(second),
  count,
  ...more,
});
const known: KnownBudget = { container: "c", failures: 3, secondsLeft: 261 };

interface Given {
  readonly it: string;
  readonly second: number;
  readonly budgets?: readonly KnownBudget[];
  readonly events?: readonly Event[];
  readonly probe?: Container["startupProbe"];
  readonly text: string;
}

test.each<Given>([
  {
    it: "the kubelet's report",
    second: 29,
    budgets: [known],
    events: [failed(9, 20)],
    text: "3 of 30 failures, at most 261 s left",
  },
  {
    it: "a report about another container is ignored",
    second: 1,
    budgets: [{ ...known, container: "d" }],
    events: [failed(1, 0)],
    text: "1 of 30 failures, at most 289 s left",
  },
  { it: "no failures", second: 0, text: "0 of 30 failures, at most 290 s left" },
  {
    it: "the initial delay is added",
    second: 5,
    probe: { initialDelaySeconds: 60 },
    text: "0 of 30 failures, at most 345 s left",
  },
  {
    it: "counts of events",
    second: 22,
    events: [failed(2, 10), failed(1, 20)],
    text: "3 of 30 failures, at most 268 s left",
  },
  {
    it: "counts of event series",
    second: 22,
    events: [
      failed(0, 0, {
        lastTimestamp: undefined,
        count: undefined,
        eventTime: at(0),
        series: { count: 3, lastObservedTime: at(20) },
      }),
    ],
    text: "3 of 30 failures, at most 268 s left",
  },
  {
    it: "aggregated events",
    second: 22,
    events: [failed(3, 20, { message: "(combined from similar events): Startup probe failed: 503" })],
    text: "3 of 30 failures, at most 268 s left",
  },
  {
    it: "a probe that could not be run is not a failure",
    second: 2,
    events: [failed(1, 0, { message: "Startup probe errored and resulted in unknown state: away" })],
    text: "0 of 30 failures, at most 290 s left",
  },
  {
    it: "failures of the previous run are ignored",
    second: 2,
    events: [failed(29, -5)],
    text: "0 of 30 failures, at most 290 s left",
  },
  {
    it: "counts over several runs are limited to what is possible",
    second: 22,
    events: [failed(40, 20)],
    text: "3 of 30 failures, at most 268 s left",
  },
  {
    it: "never above the threshold",
    second: 900,
    events: [failed(80, 890)],
    text: "30 of 30 failures, at most 0 s left",
  },
])("$it", ({ second, budgets = [], events = [], probe = {}, text }) => {
  const startupProbe = { periodSeconds: 10, failureThreshold: 30, ...probe };
  const facts = { budgets, events, now: startedMs + second * 1_000 };
  expect(findBudget(facts, { name: "c", startupProbe }, startedMs).text).toBe(text);
});

test("a probe without numbers uses the API's defaults", () => {
  const facts = { budgets: [], events: [failed(1, 0)], now: startedMs };
  expect(findBudget(facts, { name: "c", startupProbe: {} }, startedMs).text).toBe(
    "1 of 3 failures, at most 20 s left",
  );
});

import { expect, test } from "vitest";
import type { StatefulSetView } from "../../../src/monitor/feed/feed-message.ts";
import {
  describeBudget,
  describeBurn,
  describeOrdinals,
  percentText,
  toneOfBudget,
} from "./describe-rows.ts";

test.each([
  [1, "100 %"],
  [0.99, "99 %"],
  [0.9995, "99.95 %"],
  [0.99999, "99.99 %"],
  [0, "0 %"],
])("%d is %s", (part, text) => {
  expect(percentText(part)).toBe(text);
});

test.each([
  { left: 0.62, text: "62 % of the error budget left", tone: "ready" },
  { left: 0.001, text: "1 % of the error budget left", tone: "readiness" },
  { left: 0, text: "The error budget is spent", tone: "failing" },
  { left: -0.4, text: "Overspent by 40 %", tone: "failing" },
])("$left: $text", ({ left, text, tone }) => {
  expect(describeBudget(left)).toBe(text);
  expect(toneOfBudget(left)).toBe(tone);
});

test.each([
  [0, "burn rate 0"],
  [0.4567, "burn rate 0.46"],
  [14.4, "burn rate 14"],
])("burn rate %d: %s", (rate, text) => {
  expect(describeBurn(rate)).toBe(text);
});

type Health = StatefulSetView["ordinals"][number]["health"];
const set = (...healths: readonly Health[]): StatefulSetView => ({
  namespace: "shop",
  name: "db",
  strategy: "RollingUpdate",
  replicas: healths.length,
  updateRevision: "new",
  ordinals: healths.map((health, ordinal) => ({ ordinal, health, revision: ordinal > 0 ? "new" : "old" })),
  blockedBy: undefined,
});

test.each([
  {
    name: "all well",
    of: set("ready", "ready"),
    summary: "2 of 2 ready, 1 on the newest revision.",
    others: "",
  },
  { name: "none wanted", of: set(), summary: "0 of 0 ready, 0 on the newest revision.", others: "" },
  {
    name: "the worst first",
    of: set("ready", "missing", "failing", "starting"),
    summary: "1 of 4 ready, 3 on the newest revision.",
    others: "2 failing; 3 starting; 1 missing.",
  },
  {
    name: "very many",
    of: set(...Array.from({ length: 8 }, () => "missing" as const)),
    summary: "0 of 8 ready, 7 on the newest revision.",
    others: "0, 1, 2, 3, 4 and 3 more missing.",
  },
])("$name", ({ of, summary, others }) => {
  expect(describeOrdinals(of)).toEqual({ summary, others });
});

import { expect, test } from "vitest";
import type { PodView } from "../../../src/monitor/feed/feed-message.ts";
import {
  describePod,
  describeProbe,
  describeRecovery,
  type Fix,
  splitFix,
  splitFixes,
} from "./describe-pod.ts";

test("describes stage, reason and finished durations of a pod", () => {
  const pod = {
    namespace: "shop",
    name: "web-0",
    stage: "pulling",
    because: "Pulls web:1.",
    isTransient: false,
    spans: [
      { name: "scheduling", startMs: 0, endMs: 200 },
      { name: "images and containers", startMs: 200, endMs: undefined },
    ],
  } as unknown as PodView;
  expect(describePod(pod)).toBe(
    "shop/web-0, pulling. Pulls web:1. It does not recover automatically. Stages: scheduling 200 ms, images and containers under way.",
  );
  expect(describePod({ ...pod, isTransient: true, spans: [] })).toBe("shop/web-0, pulling. Pulls web:1.");
});

test.each([
  { isTransient: false, resolvesWhen: undefined, text: "It does not recover automatically." },
  { isTransient: true, resolvesWhen: undefined, text: "It may recover automatically." },
  {
    isTransient: true,
    resolvesWhen: "when a node comes",
    text: "It may recover automatically, when a node comes.",
  },
])("$text", ({ text, ...pod }) => {
  expect(describeRecovery(pod as PodView)).toBe(text);
});

test.each([
  { failures: 7, threshold: 30, text: "7 of 30 failures, one attempt every 10 s, 3 min 50 s left" },
  { failures: 30, threshold: 30, text: "30 of 30 failures, one attempt every 10 s, none left" },
  { failures: 31, threshold: 30, text: "31 of 30 failures, one attempt every 10 s, none left" },
])("describes a probe: $text", ({ failures, threshold, text }) => {
  expect(describeProbe({ container: "c", failures, threshold, periodSeconds: 10 })).toBe(text);
});

test.each<{ fix: string } & Fix>([
  { fix: "use another hostPort", advice: "use another hostPort", command: undefined },
  { fix: "its log: kubectl logs web -c c", advice: "its log", command: "kubectl logs web -c c" },
  { fix: "kubectl uncordon NODE", advice: "", command: "kubectl uncordon NODE" },
  { fix: "kubectl logs a\rrm -rf /", advice: "", command: "kubectl logs a rm -rf /" },
  { fix: "kubectl logs a\u202e\u0007b\u2028c", advice: "", command: "kubectl logs a b c" },
  { fix: "the words kubectl and kindling alone", advice: "the words", command: "kubectl and kindling alone" },
])("$fix", ({ fix, advice, command }) => {
  expect(splitFix(fix)).toEqual({ advice, command });
});

test("each line of a fix is advice with its own command", () => {
  expect(splitFixes("lower requests: kubectl describe nodes\nuse another hostPort")).toEqual([
    { advice: "lower requests", command: "kubectl describe nodes" },
    { advice: "use another hostPort", command: undefined },
  ]);
  expect(splitFixes(undefined)).toEqual([]);
});

import { expect, test } from "vitest";
import type { PodView } from "../../../src/monitor/feed/feed-message.ts";
import { describeHealing, describePod, describeProbe } from "./describe-pod.ts";

test("a pod in words: where, why, and how long what is over took", () => {
  const pod = {
    namespace: "shop",
    name: "web-0",
    stage: "pulling",
    because: "Pulls web:1.",
    healsByItself: false,
    spans: [
      { name: "scheduling", startMs: 0, endMs: 200 },
      { name: "images and containers", startMs: 200, endMs: undefined },
    ],
  } as unknown as PodView;
  expect(describePod(pod)).toBe(
    "shop/web-0, pulling. Pulls web:1. It does not heal by itself. Stages: scheduling 200 ms, images and containers under way.",
  );
  expect(describePod({ ...pod, healsByItself: true, spans: [] })).toBe("shop/web-0, pulling. Pulls web:1.");
});

test.each([
  { healsByItself: false, healsWhen: undefined, text: "It does not heal by itself." },
  { healsByItself: true, healsWhen: undefined, text: "It may heal by itself." },
  { healsByItself: true, healsWhen: "when a node comes", text: "It may heal by itself, when a node comes." },
])("$text", ({ text, ...pod }) => {
  expect(describeHealing(pod as PodView)).toBe(text);
});

test.each([
  { failures: 7, threshold: 30, text: "7 of 30 failures, one try every 10 s, 3 min 50 s left" },
  { failures: 30, threshold: 30, text: "30 of 30 failures, one try every 10 s, none left" },
  { failures: 31, threshold: 30, text: "31 of 30 failures, one try every 10 s, none left" },
])("a probe in words: $text", ({ failures, threshold, text }) => {
  expect(describeProbe({ container: "c", failures, threshold, periodSeconds: 10 })).toBe(text);
});

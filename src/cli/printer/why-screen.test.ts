import { expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { renderWhy } from "./why-screen.ts";

const now = Date.parse("2026-01-01T00:01:00Z");
const pod: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "shop" },
  spec: { nodeName: "n", containers: [{ name: "c" }], initContainers: [{ name: "i" }] },
};
const spans = [
  { name: "scheduling", startMs: now - 20_000, endMs: now - 15_000 },
  { name: "init i", startMs: now - 15_000, endMs: undefined },
];

test("one screen: stage, path, reason, recovery, fix and bars", () => {
  const view = {
    pod: {
      facts: { pod, events: [], pulls: [], budgets: [], advice: [], now },
      explanation: {
        stage: "crashing",
        since: "2026-01-01T00:00:50Z",
        because: "Container i ended with exit code 4.",
        isTransient: true,
        resolvesWhen: "when it finds what it needs",
        fix: "read what it said: kubectl logs web -n shop -c i --previous",
      },
      spans,
    },
  } as const;
  expect(renderWhy(view, { columns: 90, color: false })).toEqual([
    "shop/web  crashing for 10s  on n",
    "",
    "  ✓ scheduling  ✓ volumes  ✓ sandbox  ✓ pulling  ✗ init  · starting  · ready",
    "",
    "  Container i ended with exit code 4.",
    "",
    "  This may resolve without a change, when it finds what it needs.",
    "",
    "  Fix: read what it said:",
    "    kubectl logs web -n shop -c i --previous",
    "",
    "  scheduling  ██████████                                5 s",
    "  init i                ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  15 s …",
  ]);
});

test("several fixes, the last lines of a log, and what could not be read", () => {
  const view = {
    pod: {
      facts: { pod, events: [], pulls: [], budgets: [], advice: [], unreadable: ["events"], now },
      explanation: {
        stage: "crashing",
        since: "2026-01-01T00:01:05Z",
        because: "Container c exited with code 1.",
        isTransient: false,
        fix: "raise its limit\nread its log: kubectl logs web -n shop -c c",
        logs: [{ container: "c", lines: ["\u001b[31mno\u001b[0m database", "a".repeat(100)] }],
      },
      spans: [],
    },
  } as const;
  expect(renderWhy(view, { columns: 60, color: false })).toEqual([
    // The clock of the node is ahead.
    "shop/web  crashing for 0s  on n",
    "",
    "  Container c exited with code 1.",
    "",
    "  This does not resolve without a change.",
    "",
    "  Last lines of the log of container c:",
    "  │ [31mno[0m database",
    `  │ ${"a".repeat(54)}…`,
    "",
    "  Fix: raise its limit",
    "",
    "  Fix: read its log:",
    "    kubectl logs web -n shop -c c",
    "",
    "",
    "  You are not allowed to read events; the explanation may",
    "  lack what they show.",
  ]);
});

test("a StatefulSet, in few columns: commands stay whole and no other line is too long", () => {
  const explanation = {
    replicas: 3,
    ready: 2,
    updated: 2,
    strategy: "RollingUpdate",
    because: "Pod db-2 is not ready and of an older revision than the template.",
    isTransient: false,
    fix: "replace it: kubectl delete pod db-2 -n a-namespace-of-some-length",
    blockingPod: "db-2",
  };
  const lines = renderWhy(
    { workload: { kind: "StatefulSet", namespace: "shop", name: "db", explanation, unreadable: [] } },
    { columns: 40, color: false },
  );
  expect(lines).toContain("    kubectl delete pod db-2 -n a-namespace-of-some-length");
  expect(lines.map((line) => line.trim()).join(" ")).toContain("This does not resolve without a change.");
  const others = lines.slice(1).filter((line) => !line.includes("kubectl"));
  expect(Math.max(...others.map((line) => line.length))).toBeLessThan(40);
});

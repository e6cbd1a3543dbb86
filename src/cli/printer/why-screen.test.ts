import { expect, test } from "vitest";
import type { Pod } from "../../api/objects.ts";
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

test("one screen: stage, way, reason, whether it heals, what to do, and the bars", () => {
  const view = {
    pod: {
      facts: { pod, events: [], pulls: [], budgets: [], advice: [], now },
      explanation: {
        stage: "crashing",
        since: "2026-01-01T00:00:50Z",
        because: "Container i ended with exit code 4.",
        healsByItself: true,
        healsWhen: "when it finds what it needs",
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
    "  It may heal by itself, when it finds what it needs.",
    "",
    "  To do: read what it said:",
    "    kubectl logs web -n shop -c i --previous",
    "",
    "  scheduling  ██████████                                5 s",
    "  init i                ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  15 s …",
  ]);
});

test("a StatefulSet, in few columns: commands stay whole and no other line is too long", () => {
  const explanation = {
    replicas: 3,
    ready: 2,
    updated: 2,
    strategy: "RollingUpdate",
    because: "Pod db-2 is not ready and of an older revision than the template.",
    healsByItself: false,
    fix: "replace it: kubectl delete pod db-2 -n a-namespace-of-some-length",
    holdUp: "db-2",
  };
  const lines = renderWhy(
    { set: { namespace: "shop", name: "db", explanation } },
    { columns: 40, color: false },
  );
  expect(lines).toContain("    kubectl delete pod db-2 -n a-namespace-of-some-length");
  expect(lines).toContain("  It does not heal by itself.");
  const others = lines.slice(1).filter((line) => !line.includes("kubectl"));
  expect(Math.max(...others.map((line) => line.length))).toBeLessThan(40);
});

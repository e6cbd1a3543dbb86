import { expect, test } from "vitest";
import type { Taint } from "../../api/tolerates-taint.ts";
import { ago, now } from "../workload.fixture.ts";
import { awaitsEviction, decideTaints, type EvictionLeave } from "./decide-taints.ts";
import { nodeOf } from "./node.fixture.ts";

const taint = (key: string, effect: string): Taint => ({ key: `node.kubernetes.io/${key}`, effect });
const custom: Taint = { key: "dedicated", value: "db", effect: "NoExecute" };
type Row = [
  what: string,
  node: Parameters<typeof nodeOf>[0],
  leave: EvictionLeave,
  taints: string[] | undefined,
];

const rows: Row[] = [
  ["ready", { ready: "True" }, "hold", undefined],
  ["not ready", { ready: "False" }, "hold", ["not-ready:NoSchedule"]],
  ["not ready, and evicted", { ready: "False" }, "evict", ["not-ready:NoSchedule", "not-ready:NoExecute"]],
  [
    "unreachable, and evicted",
    { ready: "Unknown" },
    "evict",
    ["unreachable:NoSchedule", "unreachable:NoExecute"],
  ],
  [
    "one in place of the other at once",
    { ready: "Unknown", taints: [taint("not-ready", "NoSchedule"), taint("not-ready", "NoExecute")] },
    "hold",
    ["unreachable:NoSchedule", "unreachable:NoExecute"],
  ],
  [
    "healed",
    {
      ready: "True",
      taints: [taint("unreachable", "NoSchedule"), custom, taint("unreachable", "NoExecute")],
    },
    "hold",
    ["dedicated:NoExecute"],
  ],
  [
    "spared when all are lost",
    { ready: "Unknown", taints: [taint("unreachable", "NoSchedule"), taint("unreachable", "NoExecute")] },
    "spare",
    ["unreachable:NoSchedule"],
  ],
  [
    "under pressure, and cordoned",
    { ready: "True", unschedulable: true, conditions: { MemoryPressure: "True", DiskPressure: "False" } },
    "hold",
    ["memory-pressure:NoSchedule", "unschedulable:NoSchedule"],
  ],
  ["uncordoned", { ready: "True", taints: [taint("unschedulable", "NoSchedule")] }, "hold", []],
  ["never heard of", {}, "evict", undefined],
  ["as it should be", { ready: "False", taints: [taint("not-ready", "NoSchedule")] }, "hold", undefined],
];

test.each(rows)("%s", (_, parts, leave, expected) => {
  const taints = decideTaints(nodeOf(parts), { leave, now });
  const shown = taints?.map(({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`);
  expect(shown).toEqual(expected);
});

test("a taint says since when, and keeps saying so", () => {
  const before = { ...taint("not-ready", "NoExecute"), timeAdded: ago(50) };
  const taints = decideTaints(nodeOf({ ready: "False", taints: [before] }), { leave: "hold", now });
  expect(taints).toEqual([before, { ...taint("not-ready", "NoSchedule"), timeAdded: ago(0) }]);
});

test("only one that its pods have not been told to leave waits for that", () => {
  expect(awaitsEviction(nodeOf({ ready: "True" }))).toBe(false);
  expect(awaitsEviction(nodeOf({ ready: "Unknown" }))).toBe(true);
  expect(awaitsEviction(nodeOf({ ready: "Unknown", taints: [taint("not-ready", "NoExecute")] }))).toBe(false);
});

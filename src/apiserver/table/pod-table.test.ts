import { expect, test } from "vitest";
import { cellsOf } from "./cells.fixture.ts";

test("the wide columns", () => {
  const status = {
    phase: "Running",
    podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }],
    nominatedNodeName: "n2",
    conditions: [{ type: "g1", status: "True" }],
    containerStatuses: [
      {
        name: "a",
        ready: true,
        restartCount: 2,
        state: { running: {} },
        lastState: { terminated: { exitCode: 1, finishedAt: "2026-01-01T00:55:00Z" } },
      },
    ],
  };
  const spec = {
    nodeName: "n1",
    containers: [{ name: "a" }],
    readinessGates: [{ conditionType: "g1" }, { conditionType: "g2" }],
  };
  expect(cellsOf("Pod", { spec, status })).toEqual([
    "x",
    "1/1",
    "Running",
    "2 (5m ago)",
    "60m",
    "10.0.0.1",
    "n1",
    "n2",
    "1/2",
  ]);
});

test("a new pod has none of it", () => {
  expect(cellsOf("Pod", { spec: { containers: [{ name: "a" }] }, status: { phase: "Pending" } })).toEqual([
    "x",
    "0/1",
    "Pending",
    "0",
    "60m",
    "<none>",
    "<none>",
    "<none>",
    "<none>",
  ]);
});

import { expect, test } from "vitest";
import type { Node, Pod } from "../../api/meta/objects.ts";
import { summarize } from "./cluster-status.ts";

const ready = (status: "True" | "False") => [{ type: "Ready", status }];
const node = (name: string, status: "True" | "False"): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name },
  status: { conditions: ready(status) },
});
const pod = (phase: string | undefined, status: "True" | "False", deletionTimestamp?: string): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", ...(deletionTimestamp && { deletionTimestamp }) },
  spec: { containers: [] },
  status: { ...(phase && { phase }), conditions: ready(status) },
});

test("counts nodes, pods by phase and starting pods", () => {
  const nodes = [node("node-10", "True"), node("node-2", "False")];
  const pods = [
    pod("Running", "True"),
    // Running, but its probe has not succeeded.
    pod("Running", "False"),
    pod("Pending", "False"),
    pod("Pending", "False", "2026-01-01T00:00:00Z"),
    pod("Succeeded", "False"),
    pod("Failed", "False"),
    pod(undefined, "False"),
  ];
  expect(summarize(nodes, pods)).toEqual({
    nodes: [
      { name: "node-2", ready: false },
      { name: "node-10", ready: true },
    ],
    pods: {
      total: 7,
      byPhase: { Running: 2, Pending: 2, Succeeded: 1, Failed: 1, Unknown: 1 },
      starting: 3,
    },
  });
});

import { expect, test } from "vitest";
import type { ClusterStatus } from "../../cluster/lifecycle/cluster-status.ts";
import { renderStatus, statusJson } from "./status-screen.ts";

const now = Date.parse("2026-03-01T00:10:00Z");
const running: ClusterStatus = {
  dataDir: "/data",
  state: "running",
  up: {
    process: { pid: 12, startTicks: 1, bootId: "b" },
    version: "v1",
    startedAt: now - 300_000,
    store: "lmdb",
    runtime: { kind: "endpoint", endpoint: "unix:///run/c.sock" },
    handlers: {},
    ephemeral: false,
    mergedInto: [],
    serving: {
      url: "https://127.0.0.1:6443",
      kubeconfig: "/data/kubeconfig",
      runtimeName: "unix:///run/c.sock",
    },
  },
  workload: {
    nodes: [{ name: "node-1", ready: true }],
    pods: { total: 3, byPhase: { Running: 2, Pending: 1 }, starting: 1 },
  },
  containers: [],
  diskBytes: 2_097_152,
};
const render = (status: ClusterStatus, color = false) => renderStatus(status, { color, now, isRoot: true });

test("a running cluster on one screen", () => {
  expect(render(running)).toBe(`● The cluster is running (pid 12, for 5m)

  url         https://127.0.0.1:6443
  kubeconfig  /data/kubeconfig
  data        /data (2.0 MiB)
  version     v1
  store       lmdb
  runtime     unix:///run/c.sock
  nodes       1 of 1 ready
              node-1 Ready
  pods        1 Pending, 2 Running
              1 starting: kindling why POD shows what a pod is waiting for
`);
});

test("uses colours only if they are enabled", () => {
  expect(render(running, true)).toContain("\x1b[32m●\x1b[0m The cluster is running");
  expect(render(running)).not.toContain("\x1b");
});

test("lists only the nodes with problems of many", () => {
  const nodes = Array.from({ length: 100 }, (_, i) => ({ name: `node-${i}`, ready: i !== 7 }));
  const text = render({ ...running, workload: { nodes, pods: { total: 0, byPhase: {}, starting: 0 } } });
  expect(text).toMatch(/nodes +99 of 100 ready\n +node-7 NotReady\n +pods +none\n$/);
});

test("shows that the API server does not respond", () => {
  const { workload: _, ...rest } = running;
  expect(render({ ...rest, problem: "connection refused" })).toContain(
    "the API server does not respond: connection refused",
  );
});

test("shows leftover containers and how to remove them", () => {
  const containers = Array.from({ length: 12 }, (_, i) => ({
    id: `id${i}`,
    node: "node-1",
    pid: i + 2,
    name: i === 0 ? "" : `default/p${i}/c`,
  }));
  const text = render({ ...running, state: "stopped", containers });
  expect(text).toContain(
    "12 containers are still running, although the cluster is stopped:\n  id0 (pid 2)\n  default/p1/c (pid 3)\n",
  );
  expect(text).toContain("  and 2 more\n");
  expect(text).toContain("kindling down --containers --data-dir /data\n");
});

test.each([
  ["missing", "○ There is no cluster in /data\n\nTo start one: kindling up --data-dir /data\n"],
  ["foreign", "○ /data is not the data directory of a cluster\n"],
] as const)("%s", (state, text) => {
  expect(render({ dataDir: "/data", state, containers: [], diskBytes: 0 })).toBe(text);
});

test("a user other than root sees how to show clusters that were started with sudo", () => {
  const status = { dataDir: "/data", state: "missing", containers: [], diskBytes: 0 } as const;
  const said = "For a cluster that was started with sudo: sudo kindling status\n";
  expect(renderStatus(status, { color: false, now, isRoot: false })).toContain(said);
  expect(renderStatus(status, { color: false, now, isRoot: true })).not.toContain(said);
});

test("shows the selected runtime, and until it is selected the requested one", () => {
  const { up } = running;
  if (!up?.serving) throw new Error("it runs");
  const asked = { ...up, runtime: { kind: "own", driver: "auto" } } as const;
  const serving = { ...up.serving, runtimeName: "oci (runc)" };
  expect(render({ ...running, up: { ...asked, serving } })).toMatch(/^ {2}runtime {5}oci \(runc\)$/m);
  expect(statusJson({ ...running, up: { ...asked, serving } })).toMatchObject({ runtime: "oci (runc)" });
  expect(statusJson({ ...running, up: { ...asked, serving } })).not.toHaveProperty("runtimeName");
  const starting = { ...running, state: "starting", up: { ...asked, serving: undefined } } as const;
  expect(render(starting)).toMatch(/^ {2}runtime {5}auto$/m);
});

test("shows that the data needs another version", () => {
  const refused = "its data are of a newer Kindling (v9); run that version, or choose another --data-dir";
  const status = { dataDir: "/data", state: "stopped", refused, containers: [], diskBytes: 0 } as const;
  expect(render(status)).toBe(`○ The cluster in /data is not running

  data        /data (0 B)

This version of Kindling cannot use it: ${refused}
`);
  expect(statusJson(status)).toMatchObject({ state: "stopped", refused });
});

test("JSON has a pid and an address only while it runs", () => {
  expect(statusJson(running)).toMatchObject({ state: "running", pid: 12, url: "https://127.0.0.1:6443" });
  const stopped = statusJson({ ...running, state: "stopped" });
  expect(stopped).not.toHaveProperty("pid");
  expect(stopped).not.toHaveProperty("url");
});

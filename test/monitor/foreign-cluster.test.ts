import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../../src/api/meta/objects.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod } from "../support/manifests/pod.ts";
import { makeStatefulSet } from "../support/manifests/workload.ts";
import { type KindlingRun, runKindling } from "../support/programs/run-kindling.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

// `kindling monitor` in an external cluster: a service account with the ClusterRole that is shipped.
const folder = temporaryFolder();
const account = "/api/v1/namespaces/kindling-monitor/serviceaccounts/kindling-monitor";
const rolePath = "/apis/rbac.authorization.k8s.io/v1/clusterroles/kindling-monitor";
let api: TestServer;
let kubeconfig: string;
let role: KubeObject & { rules: { resources?: string[] }[] };
const runs: KindlingRun[] = [];

const collections: Readonly<Record<string, string>> = {
  Namespace: "/api/v1/namespaces",
  ServiceAccount: "/api/v1/namespaces/kindling-monitor/serviceaccounts",
  ClusterRole: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  ClusterRoleBinding: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
};

beforeAll(async () => {
  api = await startTestServer();
  const manifest = await readFile(resolve("examples/prometheus/cluster-role.yaml"), "utf8");
  for (const document of parseAllDocuments(manifest)) {
    const object = document.toJS() as KubeObject;
    await api.json("POST", collections[object.kind ?? ""] ?? "", object);
  }
  role = await api.json("GET", rolePath);
  kubeconfig = join(folder, "kubeconfig");
  const admin = await readFile(api.kubeconfig, "utf8");
  const token = await requestToken(account);
  await writeFile(
    kubeconfig,
    admin.replace(/client-certificate-data: .*\n\s*client-key-data: .*/, `token: ${token}`),
  );
});
afterAll(() => api?.close());
afterEach(async () => {
  for (const { child, exit } of runs.splice(0)) {
    child.kill("SIGKILL");
    await exit;
  }
});

async function requestToken(of: string): Promise<string> {
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const { status } = await api.json<{ status: { token: string } }>("POST", `${of}/token`, body);
  return status.token;
}

async function startMonitor(listen: string, name: string) {
  const args = ["--kubeconfig", kubeconfig, "--data-dir", join(folder, name), "--listen", listen];
  // Its certificate signs itself.
  const run = await runKindling(["monitor", ...args]);
  runs.push(run);
  await expect.poll(() => run.output.stdout).toMatch(/metrics: \S+\n/);
  const url = /monitor: (\S+)/.exec(run.output.stdout)?.[1] ?? "";
  return { run, url };
}

const pod = (name: string) => makePod(name, { nodeName: "node-1" });

/** Writes the status as a kubelet does, with the current time. */
async function setReady(name: string): Promise<void> {
  const path = `/api/v1/namespaces/default/pods/${name}`;
  const object = await api.json("GET", path);
  const lastTransitionTime = `${new Date().toISOString().slice(0, 19)}Z`;
  const types = ["PodScheduled", "PodReadyToStartContainers", "Initialized", "Ready"];
  const conditions = types.map((type) => ({ type, status: "True", lastTransitionTime }));
  await api.json("PUT", `${path}/status`, { ...object, status: { phase: "Running", conditions } });
}

async function countOf(url: string, metric: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith(`${metric}{`));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

test("with the shipped ClusterRole everything works and no missing permission is reported", async () => {
  await api.json("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "node-1" } });
  const statefulSets = "/apis/apps/v1/namespaces/default/statefulsets";
  await api.json("POST", statefulSets, makeStatefulSet("db", { replicas: 0 }));
  const { run, url } = await startMonitor("127.0.0.1:0", "all");
  await expect.poll(() => run.output.stderr).toContain("watching how pods start");
  await api.json("POST", "/api/v1/namespaces/default/pods", pod("web"));
  await api.json("POST", "/apis/events.k8s.io/v1/namespaces/default/events", {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: "web.1", namespace: "default" },
    eventTime: new Date().toISOString().replace("Z", "000Z"),
    reportingController: "kubelet",
    reportingInstance: "node-1",
    action: "Starting",
    type: "Warning",
    reason: "FailedMount",
    note: 'MountVolume.SetUp failed for volume "v" : secret "absent" not found',
    regarding: { apiVersion: "v1", kind: "Pod", namespace: "default", name: "web", uid: await uidOf("web") },
  });
  // Written through events.k8s.io alone: its deprecated fields are empty.
  await expect.poll(() => countOf(url, "kindling_pod_user_errors_total")).toBe(1);
  await api.json("POST", "/api/v1/namespaces/default/pods", pod("other"));
  await setReady("other");
  await expect.poll(() => countOf(url, "kindling_pod_start_seconds_count")).toBe(1);

  const feed = await fetch(`${url}/api/feed`);
  const reader = feed.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  await expect
    .poll(async () => {
      text += (await reader?.read())?.value ?? "";
      return ['"name":"node-1"', '"name":"db"', '"reason":"FailedMount"'].every((part) =>
        text.includes(part),
      );
    })
    .toBe(true);
  await reader?.cancel();
  expect(run.output.stderr).not.toMatch(/may not|forbidden/i);
});

async function uidOf(name: string): Promise<string> {
  const { metadata } = await api.json("GET", `/api/v1/namespaces/default/pods/${name}`);
  return metadata.uid ?? "";
}

test("on other addresses than loopback it can review callers", async () => {
  const { run, url } = await startMonitor("0.0.0.0:0", "reviews");
  await expect.poll(() => run.output.stderr).toContain("watching how pods start");
  expect(run.output.stderr).not.toMatch(/may not|forbidden/i);
  const { request } = await import("node:https");
  const ask = (token: string) =>
    new Promise<number | undefined>((resolved, reject) => {
      const options = { headers: { authorization: `Bearer ${token}` }, rejectUnauthorized: false };
      request(`${url.replace("0.0.0.0", "127.0.0.1")}/api/report`, options, (response) => {
        response.resume();
        resolved(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
  // The monitor's own account is authenticated but not authorized; an invalid token is not authenticated.
  expect(await ask(await requestToken(account))).toBe(403);
  expect(await ask("nobodys-token")).toBe(401);
});

test("a missing permission is named with its consequence, and the monitor continues when it is granted", async () => {
  const without = (resource: string) =>
    role.rules.map((rule) => ({ ...rule, resources: rule.resources?.filter((name) => name !== resource) }));
  const rules = without("pods").filter(({ resources }) => resources?.length);
  const { resourceVersion: _, ...metadata } = role.metadata;
  await api.json("PUT", rolePath, { ...role, metadata, rules });
  const { run, url } = await startMonitor("127.0.0.1:0", "missing");
  await expect
    .poll(() => run.output.stderr)
    .toContain(
      "the monitor is not allowed to list and watch pods in all namespaces, so nothing is measured; " +
        "bind its user to the ClusterRole in examples/prometheus/cluster-role.yaml",
    );
  expect(run.output.stderr).not.toContain("not allowed to list and watch nodes");
  await api.json("PUT", rolePath, { ...role, metadata });
  await expect.poll(() => run.output.stderr, { timeout: 60_000 }).toContain("watching how pods start");
  await api.json("POST", "/api/v1/namespaces/default/pods", pod("late"));
  await setReady("late");
  await expect.poll(() => countOf(url, "kindling_pod_start_seconds_count")).toBe(1);
});

import { get } from "node:https";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Pod } from "../../../src/api/meta/objects.ts";
import { type KubeletServerFixture, startKubeletFixture } from "../../support/node/kubelet-server.ts";
import type { ApiClient } from "../../support/servers/api-server.ts";

let kubelet: KubeletServerFixture;
let admin: ApiClient;
let problem: string | undefined;
beforeAll(async () => {
  kubelet = await startKubeletFixture({ health: { syncloop: () => problem } });
  admin = kubelet.as("admin", "system:masters");
  kubelet.pods.set("default/p", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "default", uid: "1" },
  });
});
afterAll(() => kubelet?.close());

const page = async (path: string, method = "GET") => {
  const { status, text } = await admin.call(method, path);
  return { status, text };
};

test("/healthz returns ok or the failing check", async () => {
  expect(await page("/healthz")).toEqual({ status: 200, text: "ok" });
  expect(await page("/healthz/ping")).toEqual({ status: 200, text: "ok" });
  problem = "no sync for 3 minutes";
  expect(await page("/healthz/syncloop")).toMatchObject({ status: 500, text: /syncloop failed: no sync/ });
  expect(await page("/healthz")).toMatchObject({ status: 500 });
  problem = undefined;
  expect(await page("/healthz/other")).toMatchObject({ status: 404 });
});

test("serves metrics, and probe metrics separately", async () => {
  kubelet.metrics.counter({ name: "prober_probe_total", help: "h" }).add();
  kubelet.metrics.counter({ name: "other_total", help: "h" }).add();
  expect((await page("/metrics")).text).toMatch(/prober_probe_total 1[\s\S]*other_total 1/);
  const probes = (await page("/metrics/probes")).text;
  expect(probes).toContain("prober_probe_total 1");
  expect(probes).not.toContain("other_total");
});

test("pods and configuration", async () => {
  const list = await admin.json<{ items: unknown[] }>("GET", "/pods");
  expect(list).toMatchObject({ kind: "PodList", items: [{ metadata: { name: "p" } }] });
  expect(await admin.json("GET", "/configz")).toEqual({ kubeletconfig: { maxPods: 110 } });
});

test("startup probes: serves the used budget of each container and the advisor's recommendation", async () => {
  const pod = kubelet.pods.get("default/p");
  const statuses = [
    { name: "slow", containerID: "kindling://1" },
    { name: "up", containerID: "kindling://2" },
  ];
  const budget = { failures: 3, failureThreshold: 30, secondsLeft: 270, text: "3 of 30" };
  const advice = { periodSeconds: 5, failureThreshold: 37, slowestSeconds: 60, reason: "3 starts took long" };
  kubelet.budgets.set("1", budget);
  kubelet.advice.set("up", advice);
  const spec = { containers: [{ name: "slow" }, { name: "up" }] };
  kubelet.pods.set("default/probed", { ...pod, spec, status: { containerStatuses: statuses } } as Pod);
  expect(await admin.json("GET", "/startupProbes/default/probed")).toEqual({
    probes: [{ container: "slow", ...budget }],
    advice: [{ container: "up", ...advice }],
  });
  expect(await page("/startupProbes/default/other")).toMatchObject({ status: 404 });
  kubelet.pods.delete("default/probed");
});

test("progress of pulls: the current state, or a line for each change", async () => {
  const pull = {
    image: "i",
    container: "c",
    startedAt: "2026-01-01T00:00:00Z",
    offset: 1,
    total: 9,
    layers: [],
  };
  kubelet.pulls.now = [pull];
  expect(await admin.json("GET", "/imagePullProgress/default/p")).toEqual({ pulls: [pull] });
  expect(await page("/imagePullProgress/default/other")).toEqual({
    status: 404,
    text: 'pod "other" does not exist',
  });
  const { cert, key } = kubelet.pki.kubeletClient;
  const url = new URL("/imagePullProgress/default/p?watch=true", kubelet.url);
  let text = "";
  const request = get(url, { cert, key, rejectUnauthorized: false, agent: false }, (response) => {
    response.on("data", (chunk) => {
      text += chunk;
    });
    response.on("error", () => {});
  });
  request.on("error", () => {});
  await expect.poll(() => text).toMatch(/\n$/);
  kubelet.pulls.now = [{ ...pull, offset: 9 }];
  kubelet.pulls.changed();
  await expect.poll(() => text.split("\n").length).toBe(3);
  const lines = text.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line).pulls[0].offset)).toEqual([1, 9]);
  request.destroy();
});

test.each([
  ["GET", "/", 404],
  ["GET", "/stats/summary", 404],
  ["GET", "/constructor", 404],
  ["GET", "/containerLogs/a/b", 404],
  ["GET", "/metrics/cadvisor", 404],
  ["GET", "/pods/%ff", 400],
  ["POST", "/pods", 405],
  ["GET", "/run/default/p/c", 405],
  ["GET", "/exec/default/p/c", 400],
  ["DELETE", "/healthz", 405],
])("%s %s is %i", async (method, path, status) => {
  expect((await page(path, method)).status).toBe(status);
});

import { expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../../lib/logger.ts";
import { createMetrics } from "../../lib/metrics/metrics.ts";
import { makePort } from "../model/service-port.fixture.ts";
import { serveProxyHealth } from "./healthz-server.ts";
import { createProxyMetrics } from "./proxy-metrics.ts";
import { createServiceHealth } from "./service-health.ts";

test.each([
  { health: { healthy: true, nodeEligible: true }, healthz: 200, livez: 200 },
  { health: { healthy: true, nodeEligible: false }, healthz: 503, livez: 200 },
  { health: { healthy: false, nodeEligible: true }, healthz: 503, livez: 503 },
])("/healthz and /livez of a proxy with $health", async ({ health, healthz, livez }) => {
  const counted: unknown[] = [];
  const proxy = {
    health: () => ({ ...health, lastUpdated: 1_000 }),
    healthChecked: (path: string, code: number) => void counted.push([path, code]),
  };
  const listen = { host: "127.0.0.1", port: 0 };
  const server = await serveProxyHealth(listen, { proxy, now: () => 5_000, logger: silentLogger });
  onTestFinished(server.close);
  const read = (path: string) => fetch(`http://127.0.0.1:${server.port}/${path}`);
  const response = await read("healthz");
  expect(response.status).toBe(healthz);
  expect(await response.json()).toEqual({
    lastUpdated: healthz === 200 ? "1970-01-01T00:00:05.000Z" : "1970-01-01T00:00:01.000Z",
    currentTime: "1970-01-01T00:00:05.000Z",
    ...health,
  });
  expect((await read("livez")).status).toBe(livez);
  expect((await read("other")).status).toBe(404);
  expect(counted).toEqual([
    ["healthz", healthz],
    ["livez", livez],
  ]);
});

test("metrics have the names of kube-proxy", () => {
  const registry = createMetrics();
  const metrics = createProxyMetrics(registry);
  metrics.changed("service");
  metrics.queued(1_000);
  metrics.failed();
  metrics.healthChecked("healthz", 200);
  metrics.healthChecked("livez", 503);
  const local = makePort(["10.0.0.2"], { type: "NodePort", externalTrafficPolicy: "Local" });
  const state = new Map([["default/web", [local]]]);
  expect(registry.text()).toContain("kubeproxy_sync_proxy_rules_service_changes_pending 1\n");
  metrics.synced({ startedAt: 2_000, endedAt: 3_000, isFull: true, triggeredAt: [1_000], state });
  metrics.synced({ startedAt: 3_000, endedAt: 3_500, isFull: false, triggeredAt: [], state });
  const lines = registry.text().split("\n");
  for (const line of [
    "kubeproxy_sync_proxy_rules_duration_seconds_count 2",
    "kubeproxy_sync_full_proxy_rules_duration_seconds_count 1",
    "kubeproxy_sync_partial_proxy_rules_duration_seconds_count 1",
    "kubeproxy_network_programming_duration_seconds_sum 2",
    "kubeproxy_sync_proxy_rules_service_changes_total 1",
    "kubeproxy_sync_proxy_rules_service_changes_pending 0",
    "kubeproxy_sync_proxy_rules_endpoint_changes_total 0",
    "kubeproxy_sync_proxy_rules_endpoint_changes_pending 0",
    "kubeproxy_sync_proxy_rules_last_timestamp_seconds 3.5",
    "kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds 1",
    "kubeproxy_sync_proxy_rules_nftables_sync_failures_total 1",
    'kubeproxy_sync_proxy_rules_no_local_endpoints_total{traffic_policy="external"} 1',
    'kubeproxy_sync_proxy_rules_no_local_endpoints_total{traffic_policy="internal"} 0',
    'kubeproxy_proxy_healthz_total{code="200"} 1',
    'kubeproxy_proxy_livez_total{code="503"} 1',
  ])
    expect(lines).toContain(line);
});

test("a health check port reports the endpoints of this node, and is closed with its service", async () => {
  let isProxyHealthy = true;
  const health = createServiceHealth({
    hosts: ["127.0.0.1"],
    isProxyHealthy: () => isProxyHealthy,
    logger: silentLogger,
  });
  onTestFinished(health.close);
  const port = await freePort();
  const sync = (localEndpoints: number) =>
    health.sync(new Map([["default/web", { port, namespace: "default", name: "web", localEndpoints }]]));
  const read = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    const weight = response.headers.get("x-load-balancing-endpoint-weight");
    return { code: response.status, weight, body: await response.json() };
  };
  const service = { namespace: "default", name: "web" };
  await sync(2);
  const body = { service, localEndpoints: 2, serviceProxyHealthy: true };
  expect(await read()).toEqual({ code: 200, weight: "2", body });
  isProxyHealthy = false;
  expect(await read()).toEqual({ code: 503, weight: "2", body: { ...body, serviceProxyHealthy: false } });
  isProxyHealthy = true;
  await sync(0);
  expect(await read()).toEqual({ code: 503, weight: "0", body: { ...body, localEndpoints: 0 } });
  await health.sync(new Map());
  await expect(read()).rejects.toThrow("fetch failed");
});

async function freePort(): Promise<number> {
  const listen = { host: "127.0.0.1", port: 0 };
  const proxy = { health: () => ({ healthy: true, lastUpdated: 0, nodeEligible: true }), healthChecked() {} };
  const server = await serveProxyHealth(listen, { proxy, now: () => 0, logger: silentLogger });
  await server.close();
  return server.port;
}

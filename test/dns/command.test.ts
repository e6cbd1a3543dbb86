import { afterAll, beforeAll, expect, test } from "vitest";
import { askDns } from "../support/network/dns-client.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

let api: TestServer;
beforeAll(async () => {
  api = await startTestServer();
});
afterAll(() => api.close());

test("kindling dns serves the names of a cluster until it is stopped", async () => {
  const { child, output, exit } = await runKindling([
    ...["dns", "--kubeconfig", api.kubeconfig, "--listen", "127.0.0.1:0"],
    ...["--cluster-domain", "Corp.Example.", "--metrics-listen", "127.0.0.1:0"],
  ]);
  await expect.poll(() => output.stdout).toContain("DNS is served at 127.0.0.1:");
  const port = Number(/DNS is served at 127\.0\.0\.1:(\d+)/.exec(output.stdout)?.[1]);
  const url = /metrics: (\S+)\/metrics/.exec(output.stdout)?.[1];
  const name = "kubernetes.default.svc.corp.example";
  await expect
    .poll(async () => (await askDns(`${name} A`, { port })).lines)
    .toEqual([`${name} 5 A 10.96.0.1`]);
  expect((await fetch(`${url}/ready`)).status).toBe(200);
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect(await (await fetch(`${url}/metrics`)).text()).toContain("coredns_dns_requests_total{");
  child.kill("SIGTERM");
  expect(await exit).toBe(0);
});

test.each([
  [["--cluster-domain", "not_a_domain"], "--cluster-domain"],
  [["--listen", "127.0.0.1"], "--listen"],
])("kindling dns %j is rejected", async (flags, option) => {
  const { exit, output } = await runKindling(["dns", "--kubeconfig", api.kubeconfig, ...flags]);
  expect(await exit).toBe(2);
  expect(output.stderr).toContain(option);
});

import { afterAll, beforeAll, expect, test } from "vitest";
import type { Pod } from "../../src/api/meta/objects.ts";
import { makePod } from "../support/manifests/pod.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const pods = "/api/v1/namespaces/default/pods";

test.each([
  { flags: [], name: "alone" },
  { flags: ["--leader-elect"], name: "elected" },
])("kindling scheduler $flags binds pods until it is stopped", async ({ flags, name }) => {
  const { child, exit } = await runKindling(["scheduler", "--kubeconfig", server.kubeconfig, ...flags]);
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name },
    status: { allocatable: { cpu: "1", memory: "1Gi", pods: "10" } },
  };
  await server.json("POST", "/api/v1/nodes", node);
  await server.json("POST", pods, makePod(name));
  const nodeName = async () => (await server.json<Pod>("GET", `${pods}/${name}`)).spec?.nodeName;
  await expect.poll(nodeName).toBeTruthy();
  child.kill("SIGTERM");
  expect(await exit).toBe(0);
});

test("without a kubeconfig and outside a pod the error asks for one", async () => {
  const { exit, output } = await runKindling(["scheduler"]);
  expect(await exit).toBe(2);
  expect(output.stderr).toContain("--kubeconfig");
});

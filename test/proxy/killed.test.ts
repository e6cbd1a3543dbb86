import { execFileSync } from "node:child_process";
import { expect, onTestFinished, test } from "vitest";
import { openPodNetwork } from "../support/network/pod-network.ts";
import { kindling, runKindling } from "../support/programs/run-kindling.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { startTestServer } from "../support/servers/api-server.ts";

const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

function makeSlice(address: string) {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "web", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    ports: [{ name: "", port: 8080, protocol: "TCP" }],
    endpoints: [{ addresses: [address], conditions: { ready: true }, nodeName: "n1" }],
  };
}

describeWithTool("nft", "kindling proxy with nftables", () => {
  test("killed, leaves connections alone; restarted, takes its rules over without a gap", async () => {
    const network = await openPodNetwork(["a", "b", "client"]);
    onTestFinished(network.close);
    const api = await startTestServer();
    onTestFinished(api.close);
    const [a, b, client] = network.pods;
    if (!a || !b || !client) throw new Error("no pods");
    const spec = { clusterIP: "10.96.0.77", ports: [{ port: 80, targetPort: 8080 }] };
    await api.json("POST", "/api/v1/namespaces/default/services", { metadata: { name: "web" }, spec });
    await api.json("POST", slices, makeSlice(a.address));

    async function start() {
      const args = ["proxy", "--kubeconfig", api.kubeconfig, "--node-name", "n1"];
      const run = await runKindling([...args, "--healthz-listen", "127.0.0.1:0"]);
      onTestFinished(async () => {
        run.child.kill("SIGKILL");
        await run.exit;
      });
      return { ...run, isReady: () => run.output.stdout.includes("are proxied by nftables") };
    }
    const service = { host: "10.96.0.77", port: 80, timeoutMs: 60_000 };
    const server = async () => (await client.tcp(service)).text?.split(" ")[0];

    const first = await start();
    await expect.poll(first.isReady).toBe(true);
    expect((await client.tcp({ ...service, keep: "open" })).text).toContain("a ");
    first.child.kill("SIGKILL");
    await first.exit;
    expect(await client.again("open")).toEqual({ text: "still here" });
    expect(await server()).toBe("a");

    const second = await start();
    const reached = new Set<unknown>();
    while (!second.isReady()) reached.add(await server());
    reached.add(await server());
    expect([...reached]).toEqual(["a"]);
    await api.json("PUT", `${slices}/web`, makeSlice(b.address));
    await expect.poll(server).toBe("b");
    expect(await client.again("open")).toEqual({ text: "still here" });

    second.child.kill("SIGTERM");
    await second.exit;
    expect(await server()).toBe("b");
    expect(await kindling("proxy", "--cleanup")).toMatchObject({ code: 0 });
    expect(execFileSync("nft", ["list", "tables"], { encoding: "utf8" })).not.toContain("kindling-proxy");
  });
});

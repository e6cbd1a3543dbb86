import { execFileSync } from "node:child_process";
import { createServer, type Server } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { PullImageRequest } from "../../src/cri/generated/cri.ts";
import { createSelfSigned } from "../../src/lib/x509/certificate.ts";
import { type Containerd, startContainerd } from "../support/cri/containerd.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { createKubectl, type Kubectl } from "../support/kubectl/kubectl.ts";
import { makePod } from "../support/manifests/pod.ts";
import { type KindlingRun, runKindling } from "../support/programs/run-kindling.ts";
import { hasTool, isRoot, toolPath } from "../support/programs/tools.ts";
import { startSlowRegistry } from "../support/registry/slow-registry.ts";
import { startTestServer } from "../support/servers/api-server.ts";
import { startUpstreamServer, upstreamProgram } from "../support/servers/upstream-server.ts";

/** Address of the node. The proxy of the API server rejects loopback addresses. */
const address = "192.0.2.10";
const mib = 2 ** 20;

interface ProxyingServer {
  /** Kubeconfig of an administrator. */
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

const servers: readonly [string, boolean, (folder: string) => Promise<ProxyingServer>][] = [
  [
    "upstream's API server",
    upstreamProgram !== undefined && hasTool("etcd"),
    async (folder) => {
      const { accessOf, stop } = await startUpstreamServer(folder);
      return { kubeconfig: await accessOf("admin", "system:masters"), stop };
    },
  ],
  [
    "this API server",
    true,
    async () => {
      const { kubeconfig, close } = await startTestServer();
      return { kubeconfig, stop: close };
    },
  ],
];

describe.each(servers)("kindling why finds a node agent through %s", (_name, hasServer, startServer) => {
  const isThere = hasServer && isRoot && hasTool("kubectl") && hasTool("containerd-2");
  const needs = isThere ? "" : " [needs root, containerd 2, kubectl, and upstream's server with etcd]";
  describe.runIf(isThere)(`with every layer${needs}`, () => {
    const folder = temporaryFolder();
    let server: ProxyingServer;
    let admin: string;
    let kubectl: Kubectl;
    let client: Client;
    let containerd: Containerd;
    let kubelet: Server;
    let agent: KindlingRun;

    beforeAll(async () => {
      execFileSync("ip", ["addr", "add", `${address}/32`, "dev", "lo"]);
      server = await startServer(folder);
      admin = server.kubeconfig;
      kubectl = createKubectl(admin);
      client = await connectCluster({ kubeconfig: admin });
      containerd = await startContainerd({ program: toolPath("containerd-2"), folder: join(folder, "c") });
      // Another kubelet: it does not have the endpoint.
      const tls = createSelfSigned({ subject: { commonName: "node-1" }, hosts: [address], now: Date.now() });
      kubelet = createServer(tls, (_request, response) => response.writeHead(404).end("404 page not found"));
      await new Promise<void>((resolve) => kubelet.listen(10250, address, resolve));
      await kubectl.run("apply -f examples/node-agent/rbac.yaml");
      await kubectl.run("create serviceaccount default");
      await client.request("POST", "/api/v1/nodes", { body: { metadata: { name: "node-1" } } });
      const node = await client.get("nodes", { name: "node-1" });
      const status = {
        addresses: [{ type: "InternalIP", address }],
        daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      };
      await client.request("PUT", "/api/v1/nodes/node-1/status", { body: { ...node, status } });
      agent = await runKindling([
        ...["node-agent", "--kubeconfig", admin, "--node-name", "node-1"],
        ...["--containerd-socket", containerd.endpoint],
      ]);
    });
    afterAll(async () => {
      agent?.child.kill("SIGTERM");
      await agent?.exit;
      kubelet?.close();
      await containerd?.stop();
      client?.close();
      await server?.stop();
      execFileSync("ip", ["addr", "del", `${address}/32`, "dev", "lo"]);
    });

    test("3542-14 reads every layer of the image", async () => {
      const registry = await startSlowRegistry({
        layerBytes: [4 * mib, 6 * mib],
        pieces: 12,
        pauseMs: 2_000,
      });
      const image = registry.reference;
      const pod = await client.create(
        "pods",
        makePod("slow", { nodeName: "node-1", containers: [{ name: "c", image }] }),
      );
      const { name, namespace, uid } = pod.metadata;
      const now = new Date().toISOString();
      await client.create("events", {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: "slow.1", namespace },
        involvedObject: {
          apiVersion: "v1",
          kind: "Pod",
          name,
          namespace,
          uid,
          fieldPath: "spec.containers{c}",
        },
        source: { component: "kubelet", host: "node-1" },
        type: "Normal",
        reason: "Pulling",
        message: `Pulling image "${image}"`,
        firstTimestamp: now,
        lastTimestamp: now,
        count: 1,
      });
      const request = PullImageRequest.fromPartial({ image: { image } });
      const pulling = containerd.client.images.pullImage(request, { timeoutMs: 300_000 });
      const layers = async () => {
        const why = await runKindling(["why", "slow", "--kubeconfig", admin, "-o", "json"]);
        await why.exit;
        return JSON.parse(why.output.stdout || "{}").pulls?.[0]?.layers?.map(
          ({ layer }: { layer: string }) => layer,
        );
      };
      await expect.poll(layers, { interval: 500 }).toEqual(registry.layers.map(({ digest }) => digest));
      await pulling;
      await registry.stop();
    });
  });
});

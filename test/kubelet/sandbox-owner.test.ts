import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod } from "../support/manifests/pod.ts";
import { ownPort } from "../support/network/own-share.ts";
import { type KubeletNode, startKubeletNode } from "../support/node/kubelet-node.ts";
import { isReady } from "../support/node/simulated-node.ts";
import { startSimulatedOnSocket } from "../support/node/simulated-on-socket.ts";
import { type RecordedCri, recordCri } from "../support/recorded-cri.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

const dataDir = temporaryFolder();
const staticPodPath = join(temporaryFolder(), "static");
const containers = [{ name: "c", image: "web:1" }];

let simulated: SimulatedRuntime;
let recorded: RecordedCri;
let server: TestServer;
let node: KubeletNode;

beforeAll(async () => {
  await startServer(await ownPort());
  simulated = await startSimulatedOnSocket({ imagesPresent: true });
  recorded = recordCri(simulated.client);
  node = await startKubeletNode({ cri: recorded.client, server, config: { staticPodPath } });
});
afterAll(async () => {
  await node?.close();
  await simulated?.close();
  await server?.close();
});

/** Each has the address and the credentials of the one before, and none of its objects: another cluster. */
async function startServer(port = Number(new URL(server.url).port)): Promise<void> {
  server = await startTestServer({ dataDir, port });
}

const sandboxes = () => [...simulated.state.sandboxes.values()];
const readyPods = () =>
  sandboxes()
    .filter(({ state }) => state === "ready")
    .map(({ metadata }) => metadata.name)
    .sort();

describe("ownership of sandboxes", () => {
  test("after a lost data directory the API server confirms ownership; without it the kubelet does not start", async () => {
    await node.run("kept", { containers });
    const { metadata } = await node.until("kept", isReady);
    await node.stop();
    const lose = () => rm(join(node.dataDir, "identity.json"));
    await lose();
    recorded.changes.length = 0;
    await node.start();
    expect((await node.until("kept", isReady)).metadata.uid).toBe(metadata.uid);
    await node.stop();
    await lose();
    await server.close();
    await expect(node.start({ untilReady: false })).rejects.toThrow(
      /of the cluster .* unknown: .* the API server does not respond/,
    );
    expect(recorded.changes).toEqual([]);
    expect(readyPods()).toEqual(["kept"]);
    await startServer();
  });

  test("the cluster was re-created: the kubelet stops without touching the old one's pods; --adopt-sandboxes ends them", async () => {
    const old = sandboxes().map(({ annotations }) => annotations["kindling.dev/cluster-uid"])[0];
    await writeFile(join(node.dataDir, "identity.json"), JSON.stringify({ kubeletId: "k", clusterUid: old }));
    recorded.changes.length = 0;
    await expect(node.start()).rejects.toThrow(new RegExp(`default/kept .* of the cluster ${old} \\(this`));
    expect(recorded.changes).toEqual([]);
    expect(readyPods()).toEqual(["kept"]);
    await node.start({ adoptSandboxes: true });
    await expect.poll(sandboxes).toEqual([]);
    await node.run("new", { containers });
    await node.until("new", isReady);
    expect(sandboxes()[0]?.annotations["kindling.dev/cluster-uid"]).not.toBe(old);
    await node.client.delete("pods", { namespace: "default", name: "new" });
    await node.untilGone("new");
  });

  test("a static pod of before the first contact is taken over by the next kubelet", async () => {
    await node.stop();
    await rm(join(node.dataDir, "identity.json"));
    await server.close();
    await mkdir(staticPodPath);
    const file = makePod("first", { containers });
    await writeFile(join(staticPodPath, "first.json"), JSON.stringify(file));
    await node.start({ untilReady: false });
    await expect.poll(readyPods).toEqual([`first-${node.name}`]);
    expect(Object.keys(sandboxes()[0]?.annotations ?? {})).toContain("kindling.dev/kubelet-id");
    await node.stop();
    const [before] = sandboxes();
    await node.start({ untilReady: false });
    await startServer();
    await node.until(`first-${node.name}`, isReady);
    expect(sandboxes()).toEqual([before]);
    await rm(staticPodPath, { recursive: true });
    await node.untilGone(`first-${node.name}`);
  });

  test("two nodes of a cluster on one runtime: the second does not start over the first one's pods", async () => {
    await node.run("of-one", { containers });
    await node.until("of-one", isReady);
    const starting = startKubeletNode({ cri: recorded.client, server, name: "node-2" });
    await expect(starting).rejects.toThrow(/for example default\/of-one .*: of the node node-1\./);
    expect(readyPods()).toEqual(["of-one"]);
  });
});

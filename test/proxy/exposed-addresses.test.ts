import { expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../../src/lib/logger.ts";
import { makePort } from "../../src/proxy/model/service-port.fixture.ts";
import { createNftablesBackend } from "../../src/proxy/nftables/nftables-backend.ts";
import { openPodNetwork } from "../support/network/pod-network.ts";
import { describeWithTool } from "../support/programs/tools.ts";

describeWithTool("nft", "the nftables backend", () => {
  test("serves node ports at the node's address to pods, and to other machines only if it is exposed", async () => {
    const network = await openPodNetwork(["a", "b"]);
    onTestFinished(network.close);
    const [a, b] = network.pods;
    if (!a || !b) throw new Error("no pods");
    const { nodeAddress: host, outside, bridge, gateway } = network;
    const ports = [{ port: 80, nodePort: 30_080 }];
    const state = new Map([["default/web", [makePort([a.address], { type: "NodePort", ports })]]]);
    const serve = async (exposedAddresses: string[]) => {
      const backend = await createNftablesBackend({
        table: "kindling-exposed",
        podInterface: bridge,
        gateway,
        nodePortAddresses: ["127.0.0.1", gateway, host],
        exposedAddresses,
        serviceSubnet: "10.96.0.0/16",
        logger: silentLogger,
      });
      await backend.sync(state, undefined);
      return backend;
    };
    const target = { host, port: 30_080, timeoutMs: 30_000 };
    await serve([]);
    expect((await b.tcp(target)).text).toContain("a ");
    expect((await network.node.tcp(target)).text).toContain("a ");
    expect(await outside.tcp(target)).toEqual({ error: "ECONNREFUSED" });
    const exposed = await serve([host]);
    onTestFinished(exposed.remove);
    expect((await outside.tcp(target)).text).toContain("a ");
  });
});

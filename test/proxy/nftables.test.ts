import { silentLogger } from "../../src/lib/logger.ts";
import { createNftablesBackend } from "../../src/proxy/nftables/nftables-backend.ts";
import type { PodNetwork } from "../support/network/pod-network.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { backendContract } from "./backend-contract.ts";

const table = "kindling-test";

const open = ({ bridge, gateway }: PodNetwork, exposedAddresses: readonly string[]) =>
  createNftablesBackend({
    table,
    podInterface: bridge,
    gateway,
    nodePortAddresses: ["127.0.0.1", gateway, ...exposedAddresses],
    exposedAddresses,
    serviceSubnet: "10.96.0.0/16",
    logger: silentLogger,
  });

describeWithTool("nft", "the nftables backend", () => {
  backendContract({ open, keepsClientAddress: true });
});

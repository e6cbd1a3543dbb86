import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll } from "vitest";
import { silentLogger } from "../../src/lib/logger.ts";
import { createUserspaceBackend } from "../../src/proxy/userspace/userspace-backend.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { backendContract } from "./backend-contract.ts";

describeWithTool("ip", "the userspace backend", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "kindling-relay-"));
    await build({
      entryPoints: ["src/proxy/userspace/relay-process.ts"],
      outfile: join(folder, "relay-process.mjs"),
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20",
    });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  backendContract({
    open: async ({ bridge, gateway, subnets }, exposedAddresses) =>
      createUserspaceBackend({
        interface: bridge,
        nodePortAddresses: ["127.0.0.1", gateway, ...exposedAddresses],
        exposedAddresses,
        podSubnets: subnets,
        serviceSubnet: "10.96.0.0/16",
        relayProgram: join(folder, "relay-process.mjs"),
        logger: silentLogger,
      }),
    keepsClientAddress: false,
  });
});

import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { dataDirPaths } from "../../src/cluster/data-dir/data-dir-files.ts";
import { removeServiceRules } from "../../src/cluster/host/service-rules.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { makePort } from "../../src/proxy/model/service-port.fixture.ts";
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
        addressRecord: join(folder, "addresses.json"),
        relayProgram: join(folder, "relay-process.mjs"),
        logger: silentLogger,
      }),
    keepsClientAddress: false,
  });

  describe("on the loopback interface", () => {
    const services = [
      makePort(["10.0.0.1"], { externalIPs: ["192.0.2.77", "192.0.2.99"] }),
      makePort(["fd77::1"], { clusterIP: "fd96::7", externalIPs: ["2001:db8::77"] }),
    ];
    const all = ["10.96.0.7", "192.0.2.77", "192.0.2.99", "fd96::7", "2001:db8::77"];
    const ip = (...args: string[]) => execFileSync("ip", args, { encoding: "utf8" });
    const present = () =>
      all.filter((address) => ip("address", "show", "dev", "lo").includes(` ${address}/`));

    const openOnLoopback = () =>
      createUserspaceBackend({
        interface: "lo",
        nodePortAddresses: ["127.0.0.1"],
        exposedAddresses: [],
        podSubnets: undefined,
        serviceSubnet: "10.96.0.0/16",
        addressRecord: dataDirPaths(folder).serviceAddresses,
        relayProgram: join(folder, "relay-process.mjs"),
        logger: silentLogger,
      });

    /** Leaves what a killed process leaves. The administrator has added one of the addresses. */
    async function leaveAddresses(): Promise<void> {
      ip("link", "set", "lo", "up");
      ip("address", "replace", "192.0.2.99/32", "dev", "lo");
      onTestFinished(() => void ip("address", "delete", "192.0.2.99/32", "dev", "lo"));
      const killed = openOnLoopback();
      await killed.sync(new Map([["default/web", services]]), undefined);
      expect(await killed.isIntact()).toBe(true);
      await killed.close();
      expect(present()).toEqual(all);
    }

    test("after a kill, the next start takes the addresses over and removes those that no service uses", async () => {
      await leaveAddresses();
      const next = openOnLoopback();
      onTestFinished(next.close);
      await next.sync(new Map([["default/web", services.slice(0, 1)]]), undefined);
      expect(present()).toEqual(["10.96.0.7", "192.0.2.77", "192.0.2.99"]);
      await next.remove();
      expect(present()).toEqual(["192.0.2.99"]);
    });

    test("an address that another program removed is restored", async () => {
      const backend = openOnLoopback();
      onTestFinished(backend.remove);
      const state = new Map([["default/web", services]]);
      await backend.sync(state, undefined);
      ip("address", "delete", "192.0.2.77/32", "dev", "lo");
      expect(await backend.isIntact()).toBe(false);
      await backend.sync(state, undefined);
      expect(await backend.isIntact()).toBe(true);
      expect(present()).toEqual(all);
    });

    test("after a kill, reset removes the addresses", async () => {
      await leaveAddresses();
      await removeServiceRules(folder);
      expect(present()).toEqual(["192.0.2.99"]);
    });
  });
});

import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../src/lib/logger.ts";
import { createManualClock, type ManualClock } from "../../src/lib/manual-clock.ts";
import { chooseNetwork } from "../../src/runtime/networks/choose-network.ts";
import { findTraces, ownBridges } from "../support/cri/machine-traces.ts";
import { ask, askFromInside, describeNetworking, run, serveInside } from "../support/network/netns.ts";
import { testNetworkContract } from "../support/network/netns-contract.ts";
import { type NetworkFixture, openNetwork } from "../support/network/netns-fixture.ts";
import { somePod } from "../support/network/netns-pod.ts";
import { ownPort, ownRange } from "../support/network/own-share.ts";

describeNetworking("network: bridge", ["ip", "iptables"], () => {
  testNetworkContract("bridge");

  describe("on its own", () => {
    let fixture: NetworkFixture;
    let clock: ManualClock;
    const path = process.env.PATH;
    beforeEach(async () => {
      clock = createManualClock();
      fixture = await openNetwork("bridge", { subnet: `${ownRange()}.0/29`, clock });
    });
    afterEach(async () => {
      process.env.PATH = path;
      await fixture.remove();
    });
    const withPort = (hostPort: number) =>
      somePod({ portMappings: [{ protocol: "TCP", containerPort: 80, hostPort, hostIp: "" }] });

    /** Programs in front of the real ones, of which the call with that number, of any of them, fails. */
    async function failCall(number: number): Promise<void> {
      const folder = join(fixture.options.dataDir, "tools");
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder);
      for (const tool of ["unshare", "ip", "iptables-save", "iptables-restore"]) {
        const real = (await run("which", [tool], { env: { PATH: path } })).stdout.trim();
        const script = `#!/bin/sh\necho ${tool} >> ${folder}/calls\n[ $(wc -l < ${folder}/calls) = ${number} ] && exit 1\nexec ${real} "$@"\n`;
        await writeFile(join(folder, tool), script);
        await chmod(join(folder, tool), 0o755);
      }
      process.env.PATH = `${folder}:${path}`;
    }

    const noBridge = () => run("ip", ["link", "delete", fixture.bridge]).catch(() => undefined);
    test.each([
      ["with the bridge there", async () => {}, ["unshare", "ip", "ip", "iptables-save", "iptables-restore"]],
      ["with the bridge to be made", noBridge, expect.arrayContaining(["unshare", "iptables-restore"])],
    ])("a failure at any step of attach leaves nothing, %s", async (_name, prepare, steps) => {
      const first = somePod();
      await fixture.network.attach(first);
      await fixture.network.detach(first.podId);
      const failed: string[] = [];
      for (let step = 1; ; step++) {
        await prepare();
        await failCall(step);
        const pod = withPort(await ownPort());
        const outcome = await fixture.network.attach(pod).catch((error: Error) => error);
        const log = await readFile(join(fixture.options.dataDir, "tools/calls"), "utf8");
        process.env.PATH = path;
        const calls = log.trim().split("\n");
        if (outcome instanceof Error) failed.push(calls[step - 1] ?? "");
        else await fixture.network.detach(pod.podId);
        expect(await fixture.network.list()).toEqual([]);
        expect(await fixture.traces([pod.podId])).toEqual([]);
        if (calls.length < step) break;
      }
      expect(failed).toEqual(steps);
    });

    test("attach fails when all addresses are in use, and succeeds after a release", async () => {
      const { network } = fixture;
      const pods = Array.from({ length: 5 }, () => somePod());
      await Promise.all(pods.map((pod) => network.attach(pod)));
      await expect(network.attach(somePod())).rejects.toMatchObject({ code: "noAddress" });
      await network.detach(pods[2]?.podId ?? "");
      await network.attach(somePod());
    });

    test("a host port in use is rejected for another pod; host ports are restored by a new daemon", async () => {
      const port = await ownPort();
      const pod = withPort(port);
      const { namespacePath } = await fixture.network.attach(pod);
      await expect(fixture.network.attach(withPort(port))).rejects.toThrow(`is taken by pod ${pod.podId}`);
      const another = await ownPort();
      const both = [withPort(another), withPort(another)].map((wants) => fixture.network.attach(wants));
      expect((await Promise.allSettled(both)).map(({ status }) => status).sort()).toEqual([
        "fulfilled",
        "rejected",
      ]);
      // An administrator flushed the tables.
      await run("iptables", ["-w", "-t", "nat", "-F", `KDL-PORTS-${fixture.bridge}`]);
      expect(await (await fixture.reopen()).problem()).toBeUndefined();
      expect((await run("iptables-save")).stdout).toContain(`kindling pod ${pod.podId}`);
      const server = await serveInside(namespacePath, { port: 80, reply: "back" });
      expect(await ask("127.0.0.1", port)).toBe("back");
      await server.stop();
    });

    describe("packet rules that another program removes", () => {
      const ownRules = async () =>
        (await run("iptables-save")).stdout.split("\n").filter((line) => line.includes(fixture.bridge));
      /** The bridge's alone: other tests use the same tables. */
      async function flush({ chains }: { chains: "emptied" | "removed" }): Promise<void> {
        const lines = (await ownRules()).filter((line) => line.startsWith("-A "));
        const tableOf = (line: string) => (/KDL-(PORTS|OUT)-/.test(line) ? "nat" : "filter");
        const names = (await ownRules()).flatMap((line) => /^:(\S+)/.exec(line)?.[1] ?? []);
        const removals = [
          ...names.map((name) => `iptables -w -t ${tableOf(name)} -F ${name}`),
          ...lines
            .filter((line) => !line.startsWith("-A KDL-"))
            .map((line) => `iptables -w -t ${tableOf(line)} ${line.replace("-A", "-D")}`),
          ...names
            .map((name) => `iptables -w -t ${tableOf(name)} -X ${name}`)
            .filter(() => chains === "removed"),
        ];
        await run("sh", ["-ec", removals.join("\n")]);
        expect((await ownRules()).filter((line) => !line.startsWith(":"))).toEqual([]);
      }
      /** Number of rule checks since `failCall`. */
      const looks = async () => {
        const log = await readFile(join(fixture.options.dataDir, "tools/calls"), "utf8").catch(() => "");
        return log.split("\n").filter((line) => line === "iptables-save").length;
      };

      test.each(["emptied", "removed"] as const)(
        "are restored with the next pod: chains %s",
        async (chains) => {
          const hostPort = await ownPort();
          const { namespacePath } = await fixture.network.attach(withPort(hostPort));
          const before = (await ownRules()).sort();
          await flush({ chains });
          await clock.advance(60_000);
          await fixture.network.attach(somePod());
          expect((await ownRules()).sort()).toEqual(before);
          const server = await serveInside(namespacePath, { port: 80, reply: "back" });
          expect(await ask("127.0.0.1", hostPort)).toBe("back");
          await server.stop();
        },
      );

      test("are restored by the status call, which checks them once a minute", async () => {
        await fixture.network.attach(withPort(await ownPort()));
        const before = (await ownRules()).sort();
        await failCall(0);
        await clock.advance(59_999);
        for (let i = 0; i < 3; i++) expect(await fixture.network.problem()).toBeUndefined();
        expect(await looks()).toBe(0);
        await clock.advance(1);
        for (let i = 0; i < 3; i++) expect(await fixture.network.problem()).toBeUndefined();
        expect(await looks()).toBe(1);
        await flush({ chains: "removed" });
        await clock.advance(60_000);
        expect(await fixture.network.problem()).toBeUndefined();
        expect((await ownRules()).sort()).toEqual(before);
      });

      test("are reported when they cannot be restored, and retried at the next check", async () => {
        await fixture.network.attach(somePod());
        const before = (await ownRules()).sort();
        await flush({ chains: "emptied" });
        await clock.advance(60_000);
        // Calls to check, to read and to write.
        await failCall(3);
        expect(await fixture.network.problem()).toContain("iptables-restore");
        await failCall(0);
        expect(await fixture.network.problem()).toBeUndefined();
        expect((await ownRules()).sort()).toEqual(before);
      });

      test("that cannot be read do not prevent pods", async () => {
        await fixture.network.attach(somePod());
        await clock.advance(60_000);
        await failCall(1);
        await fixture.network.attach(somePod());
        expect(await looks()).toBe(1);
      });
    });

    test("host ports at 127.0.0.1 do not open the host's loopback to pods", async () => {
      const { namespacePath } = await fixture.network.attach(withPort(await ownPort()));
      const onHost = createServer((socket) => socket.end("secret")).listen(0, "127.0.0.5");
      await once(onHost, "listening");
      const address = onHost.address();
      const port = typeof address === "object" && address ? address.port : 0;
      // A pod that may change its routes: its packets to 127.0.0.5 go to the bridge.
      const lines = [
        "echo 1 > /proc/sys/net/ipv4/conf/eth0/route_localnet",
        "ip address delete 127.0.0.1/8 dev lo",
        "ip route flush table local 127.0.0.0/8",
        `ip route add 127.0.0.5/32 via ${fixture.gateway} dev eth0`,
      ];
      await run("nsenter", [`--net=${namespacePath}`, "sh", "-c", lines.join("; ")]);
      await expect(askFromInside(namespacePath, "127.0.0.5", port)).rejects.toThrow();
      await run("iptables", ["-w", "-F", `KDL-IN-${fixture.bridge}`]);
      expect(await askFromInside(namespacePath, "127.0.0.5", port)).toBe("secret");
      onHost.close();
    });

    test("an invalid address range leaves no bridge behind, also after several attempts", async () => {
      const folder = join(fixture.options.dataDir, "tools");
      const real = (await run("which", ["ip"])).stdout.trim();
      await mkdir(folder);
      await writeFile(join(folder, "ip"), `#!/bin/sh\ntee -a ${folder}/said | ${real} "$@"\n`, {
        mode: 0o755,
      });
      const dataDir = join(fixture.options.dataDir, "other");
      const options = { dataDir, logger: silentLogger, wanted: "bridge", subnet: "10.1.2.0/30" } as const;
      const { network } = await chooseNetwork(options);
      process.env.PATH = `${folder}:${path}`;
      await expect(network.attach(somePod())).rejects.toThrow("no range of addresses");
      expect(await network.problem()).toContain("no range of addresses");
      const said = (await readFile(join(folder, "said"), "utf8")).split("\n");
      const named = (verb: string) =>
        said.flatMap((line) => new RegExp(`^link ${verb} (\\S+)`).exec(line)?.[1] ?? []);
      expect(named("add").length).toBeGreaterThan(0);
      expect(named("delete")).toEqual(named("add"));
    });

    test("each data directory has its own bridge and addresses", async () => {
      const folders = await Promise.all([1, 2, 3].map(() => mkdtemp(join(tmpdir(), "kindling-bridges-"))));
      const networks = await Promise.all(
        folders.map(async (dataDir) => {
          const { network } = await chooseNetwork({ dataDir, logger: silentLogger, wanted: "bridge" });
          const { addresses } = await network.attach(somePod());
          return { dataDir, network, range: addresses[0]?.split(".").slice(0, 2).join(".") };
        }),
      );
      expect(new Set(networks.map(({ range }) => range)).size).toBe(3);
      for (const { dataDir, network } of networks) {
        await network.close();
        expect(await network.list()).toHaveLength(1);
        await network.detach((await network.list())[0] ?? "");
        const bridges = await ownBridges(dataDir);
        expect(bridges).toHaveLength(1);
        await network.close();
        await network.close();
        expect(await findTraces({ dataDir, ids: [], bridges })).toMatchObject({ interfaces: [] });
        await rm(dataDir, { recursive: true });
      }
    });
  });
});

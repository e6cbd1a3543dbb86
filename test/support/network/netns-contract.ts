import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLogger } from "../../../src/lib/logger.ts";
import { releaseAbandoned } from "../../../src/runtime/containers/reconcile.ts";
import { pinNamespaces, unpinNamespaces } from "../../../src/runtime/networks/pin-namespaces.ts";
import { rounds } from "../fuzz/rounds.ts";
import { bundle } from "../programs/bundle.ts";
import { ask, askFromInside, run, serveInside } from "./netns.ts";
import { type NetworkFixture, openNetwork } from "./netns-fixture.ts";
import { somePod } from "./netns-pod.ts";
import { ownPort, ownPortRow } from "./own-share.ts";

/** Contract of networks that give each pod an address. Called inside a `describe`. */
export function testNetworkContract(name: "cni" | "bridge"): void {
  let fixture: NetworkFixture;
  beforeEach(async () => {
    fixture = await openNetwork(name);
  });
  afterEach(() => fixture.remove());

  test("attach gives a pinned namespace with an address and loopback", async () => {
    const { network } = fixture;
    const pod = somePod();
    expect(await network.problem()).toBeUndefined();
    const { namespacePath, addresses } = await network.attach(pod);
    expect(addresses).toEqual([expect.stringMatching(/^10\.\d+\.\d+\.\d+$/)]);
    const { stdout } = await run("nsenter", [`--net=${namespacePath}`, "ip", "-oneline", "address"]);
    // The bridge gives pods no neighbours: they reach each other through the node.
    const prefixLength = network.name === "bridge" ? 32 : 24;
    expect(stdout).toContain(` ${addresses[0]}/${prefixLength} `);
    expect(stdout).toContain("lo    inet 127.0.0.1/8");
    await network.check(pod.podId);
    expect(await network.list()).toEqual([pod.podId]);
  });

  test("attach of an attached pod returns its network, also in a new daemon", async () => {
    const pod = somePod();
    const first = await fixture.network.attach(pod);
    expect(await fixture.network.attach(pod)).toEqual(first);
    expect(await (await fixture.reopen()).attach(pod)).toEqual(first);
  });

  test("pods reach each other and the host, and the host reaches them", async () => {
    const { network, gateway } = fixture;
    const [a, b] = await Promise.all([network.attach(somePod()), network.attach(somePod())]);
    const server = await serveInside(a.namespacePath, { port: 8080, reply: "pod a" });
    const onHost = createServer((socket) => socket.end("host")).listen(0, gateway);
    await once(onHost, "listening");
    const address = onHost.address();
    const port = typeof address === "object" && address ? address.port : 0;
    expect(await askFromInside(b.namespacePath, a.addresses[0] ?? "", 8080)).toBe("pod a");
    expect(await askFromInside(b.namespacePath, gateway, port)).toBe("host");
    expect(await ask(a.addresses[0] ?? "", 8080)).toBe("pod a");
    await server.stop();
    onHost.close();
  });

  test("host ports lead to the pod from loopback, the bridge's address and other pods, until it is detached", async () => {
    const { network, gateway } = fixture;
    const hostPort = await ownPort();
    const pod = somePod({ portMappings: [{ protocol: "TCP", containerPort: 80, hostPort, hostIp: "" }] });
    const [{ namespacePath }, other] = await Promise.all([network.attach(pod), network.attach(somePod())]);
    const server = await serveInside(namespacePath, { port: 80, reply: "by port" });
    expect(await ask("127.0.0.1", hostPort)).toBe("by port");
    expect(await ask(gateway, hostPort)).toBe("by port");
    expect(await askFromInside(other.namespacePath, gateway, hostPort)).toBe("by port");
    expect(await askFromInside(namespacePath, gateway, hostPort)).toBe("by port");
    await network.check(pod.podId);
    await server.stop();
    await network.detach(pod.podId);
    await expect(ask("127.0.0.1", hostPort)).rejects.toThrow("ECONNREFUSED");
    expect(await fixture.traces([pod.podId])).not.toContainEqual(expect.stringContaining(pod.podId));
  });

  test("detach leaves nothing and is idempotent, also for an unknown pod", async () => {
    const { network } = fixture;
    const pods = [somePod(), somePod()];
    const { namespacePath } = await network.attach(pods[0] ?? somePod());
    for (const { podId } of [...pods, ...pods]) await network.detach(podId);
    expect(existsSync(namespacePath)).toBe(false);
    expect(await network.list()).toEqual([]);
    expect(await fixture.traces(pods.map(({ podId }) => podId))).toEqual([]);
  });

  test("thirty attaches at once get different addresses; none is used again before its release", async () => {
    const { network } = fixture;
    const pods = Array.from({ length: 30 }, () => somePod());
    const networks = await Promise.all(pods.map((pod) => network.attach(pod)));
    const addresses = networks.flatMap((one) => one.addresses);
    expect(new Set(addresses).size).toBe(30);
    const released = pods.slice(0, 10);
    await Promise.all(released.map(({ podId }) => network.detach(podId)));
    const later = await Promise.all(Array.from({ length: 5 }, () => network.attach(somePod())));
    const kept = new Set(addresses.slice(10));
    expect(later.flatMap((one) => one.addresses).filter((address) => kept.has(address))).toEqual([]);
    expect((await network.list()).length).toBe(25);
    await Promise.all((await network.list()).map((podId) => network.detach(podId)));
    expect(await fixture.traces(pods.map(({ podId }) => podId))).toEqual([]);
  });

  test("a namespace that the caller pinned is used, and left to the caller", async () => {
    const pod = somePod();
    const directory = join(fixture.options.dataDir, "sandbox");
    const pinned = await pinNamespaces({ podId: pod.podId, directory, kinds: ["net", "ipc", "uts"] });
    const { namespacePath } = await fixture.network.attach({ ...pod, namespacePath: pinned.net });
    expect(namespacePath).toBe(pinned.net);
    await fixture.network.check(pod.podId);
    await fixture.network.detach(pod.podId);
    expect(existsSync(namespacePath)).toBe(true);
    await unpinNamespaces(directory);
    expect(await fixture.traces([pod.podId])).toEqual([]);
  });

  const damages: [name: string, damage: (namespacePath: string, bridge: string) => Promise<unknown>][] = [
    ["the pod's interface", (path) => run("nsenter", [`--net=${path}`, "ip", "link", "delete", "eth0"])],
    ["the namespace's mount", (path) => run("umount", ["--lazy", path])],
    ["the bridge", (_path, bridge) => run("ip", ["link", "delete", bridge])],
  ];
  test.each(damages)("%s deleted by hand: check fails, detach cleans up", async (what, damage) => {
    const { network, bridge } = fixture;
    const pod = somePod({
      portMappings: [{ protocol: "TCP", containerPort: 80, hostPort: await ownPort(), hostIp: "" }],
    });
    const { namespacePath } = await network.attach(pod);
    await damage(namespacePath, bridge);
    // Our own bridge is restored by check.
    if (!(name === "bridge" && what === "the bridge"))
      await expect(network.check(pod.podId)).rejects.toMatchObject({ code: "broken" });
    await network.detach(pod.podId);
    expect(await fixture.traces([pod.podId])).toEqual([]);
    await network.attach(pod);
    await network.check(pod.podId);
  });

  test("a daemon killed at any moment leaves nothing that the next one does not find and release", async () => {
    const program = await bundle("test/support/network/netns-attach-child.ts");
    const complaints: unknown[] = [];
    const logger = { ...silentLogger, warn: (...line: unknown[]) => void complaints.push(line) };
    for (let round = 0; round < rounds(1); round++) {
      const firstPort = ownPortRow();
      const daemon = spawn(process.execPath, [program, JSON.stringify({ ...fixture.options, firstPort })], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      await once(daemon.stdout, "data");
      await delay(randomInt(0, 400));
      const exited = once(daemon, "exit");
      daemon.kill("SIGKILL");
      await exited;
      const next = await fixture.reopen();
      const left = await next.list();
      await releaseAbandoned(next, { knownPodIds: new Set(), logger });
      expect(complaints).toEqual([]);
      expect(await next.list()).toEqual([]);
      // Polled: a child that was just being forked shows up for a moment, and then finds nothing to work on.
      await expect.poll(() => fixture.traces([...left, `killed-${daemon.pid}`])).toEqual([]);
    }
  });
}

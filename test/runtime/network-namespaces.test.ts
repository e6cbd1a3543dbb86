import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isPinned, pinNamespaces, unpinNamespaces } from "../../src/runtime/networks/pin-namespaces.ts";
import { describeNetworking, run } from "../support/network/netns.ts";

describeNetworking("pinned namespaces", ["ip"], () => {
  let directory: string;
  beforeEach(async () => {
    directory = join(await mkdtemp(join(tmpdir(), "kindling-pins-")), "pod");
  });
  afterEach(async () => {
    await unpinNamespaces(directory);
    await rm(join(directory, ".."), { recursive: true });
  });
  const inside = async (...command: string[]) => {
    const files = ["net", "ipc", "uts"].map((kind) => `--${kind}=${join(directory, kind)}`);
    return (await run("nsenter", [...files, ...command])).stdout.trim();
  };

  test("exist without a process, with their own hostname, parameters and loopback", async () => {
    const file = "/proc/sys/kernel/shm_rmid_forced";
    const before = await Promise.all([readFile(file, "utf8"), readFile("/etc/hostname", "utf8")]);
    const pinned = await pinNamespaces({
      podId: "p",
      directory,
      kinds: ["net", "ipc", "uts"],
      hostname: "web-0 $(x)",
      sysctls: { "kernel.shm_rmid_forced": "1", "net.ipv4.ip_local_port_range": "1024 2048" },
    });
    expect(pinned).toEqual({
      net: join(directory, "net"),
      ipc: join(directory, "ipc"),
      uts: join(directory, "uts"),
    });
    expect(await inside("uname", "-n")).toBe("web-0 $(x)");
    expect(await inside("cat", file)).toBe("1");
    expect(await inside("cat", "/proc/sys/net/ipv4/ip_local_port_range")).toBe("1024\t2048");
    expect(await inside("ip", "-oneline", "link", "show", "lo")).toContain(",UP");
    expect(await Promise.all([readFile(file, "utf8"), readFile("/etc/hostname", "utf8")])).toEqual(before);
  });

  test("only the wanted kinds; again replaces; removal is idempotent", async () => {
    const request = { podId: "p", directory, kinds: ["uts", "ipc"] as const, hostname: "one" };
    expect(Object.keys(await pinNamespaces(request))).toEqual(["uts", "ipc"]);
    await pinNamespaces({ ...request, hostname: "two" });
    // A mount on top of a mount, as two daemons could leave them.
    await run("mount", ["--bind", "/proc/self/ns/uts", join(directory, "uts")]);
    await unpinNamespaces(directory);
    await unpinNamespaces(directory);
    expect(existsSync(directory)).toBe(false);
    expect(await isPinned(join(directory, "uts"))).toBe(false);
  });

  test("a failure leaves nothing", async () => {
    const request = { podId: "p", directory, kinds: ["net"] as const };
    await expect(pinNamespaces({ ...request, ipBatch: ["link set nothing up"] })).rejects.toThrow("nothing");
    await expect(pinNamespaces({ ...request, sysctls: { "net.ipv4.no_such": "1" } })).rejects.toThrow(
      "unshare",
    );
    await expect(pinNamespaces({ ...request, sysctls: { "vm.swappiness": "1" } })).rejects.toThrow(
      "the host",
    );
    expect(existsSync(directory)).toBe(false);
    expect(await readFile("/proc/self/mountinfo", "utf8")).not.toContain(directory);
  });
});

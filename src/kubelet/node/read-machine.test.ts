import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readMachine } from "./read-machine.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "kindling-machine-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

const address = (ip: string, internal = false) => ({
  address: ip,
  internal,
  netmask: "",
  mac: "",
  cidr: null,
  ...(ip.includes(":") ? { family: "IPv6" as const, scopeid: 0 } : { family: "IPv4" as const }),
});

test("reads the machine's files", async () => {
  await write("etc/os-release", 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n');
  await write("etc/machine-id", "abc\n");
  await write("sys/class/dmi/id/product_uuid", "uuid\n");
  await write("proc/sys/kernel/random/boot_id", "boot\n");
  await write("proc/meminfo", "MemTotal:        8000 kB\nMemFree: 1 kB\nSwapTotal:       2000 kB\n");
  const route = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT";
  await write(
    "proc/net/route",
    [route, "slow 00000000 0 3 0 0 100 00000000 0 0 0", "eth1 00000000 0 3 0 0 10 00000000 0 0 0"].join("\n"),
  );
  const interfaces = () => ({
    lo: [address("127.0.0.1", true)],
    eth0: [address("10.0.0.1")],
    eth1: [address("fe80::1"), address("192.168.0.7"), address("fd00::7")],
  });
  expect(await readMachine({ dataDir: root, root, interfaces })).toMatchObject({
    osImage: "Debian GNU/Linux 12 (bookworm)",
    machineId: "abc",
    systemUuid: "uuid",
    bootId: "boot",
    memoryBytes: 8_000 * 1_024,
    swapBytes: 2_000 * 1_024,
    addresses: ["192.168.0.7", "fd00::7"],
  });
});

test("returns defaults if nothing can be read", async () => {
  const machine = await readMachine({ dataDir: join(root, "missing"), root, interfaces: () => ({}) });
  expect(machine).toMatchObject({
    osImage: "Linux",
    machineId: "",
    systemUuid: "",
    bootId: "",
    memoryBytes: 0,
    storageBytes: 0,
    addresses: ["127.0.0.1"],
  });
});

test("this machine has processors, memory, storage and a boot id", async () => {
  const machine = await readMachine({ dataDir: root });
  expect(machine.cpus).toBeGreaterThan(0);
  expect(machine.memoryBytes).toBeGreaterThan(2 ** 20);
  expect(machine.storageBytes).toBeGreaterThan(2 ** 20);
  expect(machine.bootId).toMatch(/^[0-9a-f-]{36}$/);
});

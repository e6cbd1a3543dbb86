import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { defaultCpuSettings } from "./linux-resources.ts";
import { makePod } from "./make-pod.fixture.ts";
import { prepareSandbox, type SandboxDeps } from "./prepare-sandbox.ts";

let root: string;
let deps: SandboxDeps;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "sandbox-"));
  await writeFile(join(root, "resolv.conf"), "nameserver 192.0.2.53\nsearch example.org\n");
  deps = {
    node: () => ({
      memoryBytes: 8e9,
      allocatable: {},
      hostIps: ["192.0.2.1"],
      machine: {
        cgroupVersion: 1,
        limitsSwap: false,
        selinux: false,
        hugePageSizes: [],
        thermalPaths: [],
      },
    }),
    logsDirectory: join(root, "logs"),
    clusterDns: ["10.96.0.10"],
    clusterDomain: "cluster.local",
    resolvConf: join(root, "resolv.conf"),
    cgroupParent: async () => "/kubepods/podu-1",
    cpu: defaultCpuSettings,
  };
});

afterEach(() => rm(root, { recursive: true, force: true }));

test("makes the log directory and reads the node's resolver", async () => {
  const { config, warnings } = await prepareSandbox(deps, { pod: makePod(), attempt: 1 });
  expect(config.metadata?.attempt).toBe(1);
  expect(config.linux?.cgroupParent).toBe("/kubepods/podu-1");
  expect(config.dnsConfig).toEqual({
    servers: ["10.96.0.10"],
    searches: ["shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.org"],
    options: ["ndots:5"],
  });
  expect((await stat(config.logDirectory)).isDirectory()).toBe(true);
  expect(warnings).toEqual([]);
});

test("says what it changed to fit", async () => {
  const { warnings } = await prepareSandbox({ ...deps, clusterDns: [] }, { pod: makePod(), attempt: 0 });
  expect(warnings.map(({ reason }) => reason)).toEqual(["MissingClusterDNS"]);
});

test.each([
  ["the resolver's file is gone", { resolvConf: "/nowhere/resolv.conf" }, {}, "ENOENT"],
  ["the name is too long", {}, { subdomain: "s".repeat(50), setHostnameAsFQDN: true }, "is too long"],
])("fails when %s", async (_, changed, spec, message) => {
  const failed = prepareSandbox({ ...deps, ...changed }, { pod: makePod(spec), attempt: 0 });
  await expect(failed).rejects.toMatchObject({
    reason: "FailedCreatePodSandBox",
    message: expect.stringContaining(message),
  });
});

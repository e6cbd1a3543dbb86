import { describe, expect, it } from "vitest";
import { allCapabilities } from "../capabilities.ts";
import type { ContainerSpec } from "../driver.ts";
import { buildOciConfig, type OciFacts } from "./build-oci-config.ts";

const facts: OciFacts = {
  cgroupVersion: 1,
  arch: "x64",
  capabilities: allCapabilities,
  apparmor: true,
  hugepages: true,
  seccomp: true,
  oomScoreAdjFloor: undefined,
  devices: [],
  localSeccomp: undefined,
};

const spec: ContainerSpec = {
  id: "c1",
  rootfs: "/images/c1",
  readonlyRootfs: false,
  args: ["/bin/app"],
  env: ["A=b"],
  workingDir: "",
  user: { uid: 1, gid: 2, additionalGids: [3] },
  hostname: "pod",
  mounts: [],
  devices: [],
  namespaces: { network: "/run/netns/x", ipc: "/proc/9/ns/ipc", uts: "/proc/9/ns/uts", pid: "new" },
  cgroupParent: "/kubepods/pod1",
  resources: {},
  security: {
    privileged: false,
    capabilities: { add: [], drop: [] },
    noNewPrivileges: true,
    maskedPaths: ["/proc/kcore"],
    readonlyPaths: ["/proc/sys"],
    seccomp: { kind: "runtimeDefault" },
    apparmorProfile: "profile",
  },
  sysctls: {},
  oomScoreAdj: -998,
  terminal: false,
  stdin: false,
  stdinOnce: false,
  logPath: "",
  annotations: { a: "b" },
};

const build = (change: Partial<ContainerSpec> = {}, fact: Partial<OciFacts> = {}) =>
  buildOciConfig({ ...spec, ...change }, { ...facts, ...fact });
const secured = (change: Partial<ContainerSpec["security"]>, fact: Partial<OciFacts> = {}) =>
  build({ security: { ...spec.security, ...change } }, fact);

describe("buildOciConfig", () => {
  it("writes the process", () => {
    expect(build().process).toMatchObject({
      args: ["/bin/app"],
      cwd: "/",
      env: [expect.stringMatching(/^PATH=/), "A=b"],
      user: { uid: 1, gid: 2, additionalGids: [3] },
      noNewPrivileges: true,
      oomScoreAdj: -998,
      apparmorProfile: "profile",
    });
    expect(build({ env: ["PATH=/x"], terminal: true }).process.env).toEqual(["TERM=xterm", "PATH=/x"]);
  });

  it("does not lower oom_score_adj below the allowed minimum", () => {
    expect(build({}, { oomScoreAdjFloor: 0 }).process.oomScoreAdj).toBe(0);
    expect(build({ oomScoreAdj: 500 }, { oomScoreAdjFloor: 0 }).process.oomScoreAdj).toBe(500);
    expect(build({ oomScoreAdj: undefined }).process).not.toHaveProperty("oomScoreAdj");
  });

  it.each([
    ["v1", 1, ["mount", "network", "ipc", "uts", "pid"]],
    ["v2", 2, ["mount", "network", "ipc", "uts", "pid", "cgroup"]],
  ] as const)("creates and joins namespaces with cgroup %s", (_name, cgroupVersion, types) => {
    const { namespaces } = build({}, { cgroupVersion }).linux;
    expect(namespaces.map(({ type }) => type)).toEqual(types);
    expect(namespaces[1]).toEqual({ type: "network", path: "/run/netns/x" });
    expect(namespaces[4]).toEqual({ type: "pid" });
  });

  it("omits the host's namespaces and the host name", () => {
    const config = build({ namespaces: { network: "host", ipc: "host", uts: "host", pid: "host" } });
    expect(config.linux.namespaces).toEqual([{ type: "mount" }]);
    expect(config).not.toHaveProperty("hostname");
  });

  it("places the cgroup below its parent with limits", () => {
    const resources = {
      cpuShares: 100,
      cpuQuota: 5,
      cpuPeriod: 10,
      memoryLimitBytes: 7,
      pidsLimit: 3,
      cpusetCpus: "0",
      unified: { "memory.high": "5" },
    };
    expect(build({ resources }).linux.cgroupsPath).toBe("/kubepods/pod1/c1");
    expect(build({ resources }).linux.resources).toEqual({
      devices: [{ allow: false, access: "rwm" }],
      cpu: { shares: 100, quota: 5, period: 10, cpus: "0" },
      memory: { limit: 7, swap: 7 },
      pids: { limit: 3 },
    });
    expect(build({ resources }, { cgroupVersion: 2 }).linux.resources.unified).toEqual({
      "memory.high": "5",
    });
    expect(build().linux.resources).toEqual({ devices: [{ allow: false, access: "rwm" }] });
    const hugepages = { resources: { hugepageLimits: [{ pageSize: "2MB", limitBytes: 0 }] } };
    expect(build(hugepages).linux.resources.hugepageLimits).toEqual([{ pageSize: "2MB", limit: 0 }]);
    expect(build(hugepages, { hugepages: false }).linux.resources).not.toHaveProperty("hugepageLimits");
  });

  it.each([
    ["the tmpfs of the cgroup v1 controllers", 1, [], ["/proc/sys", "/sys/fs/cgroup"]],
    ["nothing more with cgroup v2, whose mount is read-only", 2, [], ["/proc/sys"]],
    ["no mount of the container's own", 1, ["/sys/fs/cgroup"], ["/proc/sys"]],
  ] as const)("makes read-only: %s", (_name, cgroupVersion, destinations, readonlyPaths) => {
    const mount = {
      source: "/x",
      readonly: false,
      propagation: "private",
      recursiveReadonly: false,
    } as const;
    const mounts = destinations.map((destination) => ({ ...mount, destination }));
    expect(build({ mounts }, { cgroupVersion }).linux.readonlyPaths).toEqual(readonlyPaths);
  });

  it("gives a privileged container all privileges", () => {
    const { process, linux, mounts } = secured({ privileged: true });
    expect(process.capabilities.effective).toHaveLength(allCapabilities.length);
    expect(linux).toMatchObject({ maskedPaths: [], readonlyPaths: [] });
    expect(linux.resources.devices).toEqual([{ allow: true, access: "rwm" }]);
    expect(linux).not.toHaveProperty("seccomp");
    expect(mounts.find(({ destination }) => destination === "/sys")?.options).toContain("rw");
  });

  it("allows only the requested devices", () => {
    const device = { path: "/dev/fuse", type: "c", major: 10, minor: 229, permissions: "rw" } as const;
    const { devices, resources } = build({}, { devices: [device] }).linux;
    expect(devices).toEqual([{ path: "/dev/fuse", type: "c", major: 10, minor: 229 }]);
    expect(resources.devices[1]).toEqual({ allow: true, type: "c", major: 10, minor: 229, access: "rw" });
  });

  it("chooses the seccomp profile", () => {
    const local = { defaultAction: "SCMP_ACT_LOG", syscalls: [] };
    expect(secured({ seccomp: { kind: "unconfined" } }).linux.seccomp).toBeUndefined();
    expect(secured({}, { seccomp: false }).linux.seccomp).toBeUndefined();
    const chosen = secured({ seccomp: { kind: "localhost", path: "/p" } }, { localSeccomp: local });
    expect(chosen.linux.seccomp).toBe(local);
    expect(build().linux.seccomp?.defaultAction).toBe("SCMP_ACT_ERRNO");
  });

  it("sets an AppArmor profile only where the kernel supports it", () => {
    expect(build({}, { apparmor: false }).process).not.toHaveProperty("apparmorProfile");
  });
});

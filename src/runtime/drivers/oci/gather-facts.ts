import { existsSync, lstatSync, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { CgroupLayout } from "../../../lib/cgroup/cgroup-layout.ts";
import { capabilitiesOfMask } from "../capabilities.ts";
import { type ContainerSpec, DriverError } from "../driver.ts";
import { findMount } from "../linux/mount-table.ts";
import type { OciFacts } from "./build-oci-config.ts";
import type { OciDevice } from "./oci-config.ts";
import type { SeccompProfile } from "./seccomp-profile.ts";

export type MachineFacts = Omit<OciFacts, "devices" | "localSeccomp">;

/** Facts about the machine, gathered once. */
export function gatherMachineFacts(layout: CgroupLayout): MachineFacts {
  const status = readFileSync("/proc/self/status", "utf8");
  const capabilities = capabilitiesOfMask(/^CapBnd:\s*(\w+)/m.exec(status)?.[1] ?? "0");
  const mayLower = capabilities.includes("SYS_RESOURCE");
  return {
    cgroupVersion: layout.kind === "v2" ? 2 : 1,
    arch: process.arch,
    capabilities,
    hugepages: hasController(layout, "hugetlb"),
    apparmor: existsSync("/sys/kernel/security/apparmor/profiles"),
    seccomp: /^Seccomp:/m.test(status),
    oomScoreAdjFloor: mayLower ? undefined : Number(readFileSync("/proc/self/oom_score_adj", "utf8")),
  };
}

function hasController({ kind, v1, unified }: CgroupLayout, name: string): boolean {
  if (kind !== "v2") return name in v1;
  return readFileSync(join(unified ?? "", "cgroup.controllers"), "utf8")
    .split(/\s/)
    .includes(name);
}

/** Facts about one container: numbers of devices, content of a seccomp profile. */
export async function gatherContainerFacts(spec: ContainerSpec, machine: MachineFacts): Promise<OciFacts> {
  for (const mount of spec.mounts) if (mount.propagation === "bidirectional") await checkShared(mount.source);
  const { seccomp } = spec.security;
  const wanted = spec.security.privileged ? [...hostDevices(), ...spec.devices] : spec.devices;
  return {
    ...machine,
    devices: containerDevices(wanted),
    localSeccomp:
      seccomp.kind === "localhost" && !spec.security.privileged ? await readProfile(seccomp.path) : undefined,
  };
}

/** Mounts propagate to the host only through a shared mount; otherwise they would silently not appear. */
async function checkShared(source: string): Promise<void> {
  const mount = findMount(await realpath(source));
  if (mount.shared) return;
  throw new DriverError("invalid", `path ${source} is mounted on ${mount.path} but it is not a shared mount`);
}

async function readProfile(path: string): Promise<SeccompProfile> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as SeccompProfile;
  } catch (error) {
    throw new DriverError("invalid", `seccomp profile ${path}: ${(error as Error).message}`);
  }
}

/** Devices of the container on this machine; of two with one path the later one applies. */
export function containerDevices(wanted: ContainerSpec["devices"]): OciFacts["devices"] {
  const devices = wanted.flatMap(({ hostPath, containerPath, permissions }) =>
    devicesAt(hostPath, containerPath).map((device) => ({ ...device, permissions })),
  );
  return [...new Map(devices.map((device) => [device.path, device])).values()];
}

/** A device, or every device of a directory. */
function devicesAt(hostPath: string, containerPath: string): OciDevice[] {
  const stat = statSync(hostPath, { throwIfNoEntry: false });
  if (!stat) throw new DriverError("invalid", `device ${hostPath} does not exist`);
  return devicesBelow(stat, hostPath, containerPath);
}

/** Devices below a path. Links are skipped, as in other runtimes: udev leaves some that are dangling or circular. */
function devicesBelow(stat: Stats, hostPath: string, containerPath: string): OciDevice[] {
  if (stat.isDirectory()) {
    return readdirSync(hostPath).flatMap((name) => {
      const path = join(hostPath, name);
      // Devices come and go.
      const child = lstatSync(path, { throwIfNoEntry: false });
      return child ? devicesBelow(child, path, join(containerPath, name)) : [];
    });
  }
  if (!stat.isCharacterDevice() && !stat.isBlockDevice()) return [];
  return [
    {
      path: containerPath,
      type: stat.isBlockDevice() ? "b" : "c",
      ...deviceNumbers(stat.rdev),
      fileMode: stat.mode & 0o7777,
      uid: stat.uid,
      gid: stat.gid,
    },
  ];
}

/** Device numbers as glibc's major() and minor() compute them. */
export function deviceNumbers(rdev: number): { major: number; minor: number } {
  const device = BigInt(rdev);
  return {
    major: Number(((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn)),
    minor: Number((device & 0xffn) | ((device >> 12n) & ~0xffn)),
  };
}

/**
 * Device nodes of the host for a privileged container, except terminals, shared memory and others that it has itself.
 */
function hostDevices(): ContainerSpec["devices"] {
  const skipped = new Set([
    "pts",
    "shm",
    "mqueue",
    "fd",
    "console",
    "ptmx",
    "stdin",
    "stdout",
    "stderr",
    ".udev",
    "core",
  ]);
  return readdirSync("/dev", { withFileTypes: true })
    .filter((entry) => !skipped.has(entry.name) && !entry.isSymbolicLink())
    .filter((entry) => entry.isCharacterDevice() || entry.isBlockDevice() || entry.isDirectory())
    .map(({ name }) => ({ hostPath: `/dev/${name}`, containerPath: `/dev/${name}`, permissions: "rwm" }));
}

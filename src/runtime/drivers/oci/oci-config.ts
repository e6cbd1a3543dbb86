import { posix } from "node:path";
import type { ContainerSpec, Mount } from "../driver.ts";
import type { SeccompProfile } from "./seccomp-profile.ts";

/** Parts of the OCI runtime specification's config.json that the driver writes. */
export interface OciConfig {
  readonly ociVersion: string;
  readonly root: { readonly path: string; readonly readonly: boolean };
  readonly hostname?: string;
  readonly process: OciProcess;
  readonly mounts: readonly OciMount[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly linux: OciLinux;
}

interface OciProcess {
  readonly terminal: boolean;
  readonly user: { readonly uid: number; readonly gid: number; readonly additionalGids: readonly number[] };
  readonly args: readonly string[];
  readonly env: readonly string[];
  readonly cwd: string;
  readonly capabilities: Readonly<Record<"bounding" | "effective" | "permitted", readonly string[]>>;
  readonly rlimits?: readonly { readonly type: string; readonly soft: number; readonly hard: number }[];
  readonly noNewPrivileges: boolean;
  readonly oomScoreAdj?: number;
  readonly apparmorProfile?: string;
}

export interface OciMount {
  readonly destination: string;
  readonly type: string;
  readonly source: string;
  readonly options: readonly string[];
}

export interface OciDevice {
  readonly path: string;
  readonly type: "c" | "b" | "p";
  readonly major: number;
  readonly minor: number;
  readonly fileMode?: number;
  readonly uid?: number;
  readonly gid?: number;
}

export interface OciDeviceRule {
  readonly allow: boolean;
  readonly type?: string;
  readonly major?: number;
  readonly minor?: number;
  readonly access: string;
}

interface OciLinux {
  readonly namespaces: readonly { readonly type: string; readonly path?: string }[];
  readonly devices: readonly OciDevice[];
  readonly cgroupsPath: string;
  readonly resources: {
    readonly devices: readonly OciDeviceRule[];
    readonly cpu?: Readonly<Record<string, number | string>>;
    readonly memory?: Readonly<Record<string, number>>;
    readonly pids?: { readonly limit: number };
    readonly hugepageLimits?: readonly { readonly pageSize: string; readonly limit: number }[];
    readonly unified?: Readonly<Record<string, string>>;
  };
  readonly sysctl?: Readonly<Record<string, string>>;
  readonly seccomp?: SeccompProfile;
  readonly rootfsPropagation?: string;
  readonly maskedPaths: readonly string[];
  readonly readonlyPaths: readonly string[];
}

export const propagationOption = {
  private: "rprivate",
  hostToContainer: "rslave",
  bidirectional: "rshared",
} as const;

/** Mounts of a container: the defaults that it does not replace and its own, parents before children. */
export function ociMounts(spec: ContainerSpec): OciMount[] {
  const own = spec.mounts.map(bindMount);
  const taken = new Set(own.map(({ destination }) => destination));
  const defaults = defaultMounts(spec).filter(({ destination }) => !taken.has(destination));
  return [...defaults, ...own]
    .map((mount, index) => ({ mount, index }))
    .sort(byDepth)
    .map(({ mount }) => mount);
}

function bindMount(mount: Mount): OciMount {
  return {
    destination: posix.resolve("/", mount.destination),
    type: "bind",
    source: mount.source,
    options: [
      "rbind",
      propagationOption[mount.propagation],
      mount.readonly ? "ro" : "rw",
      ...(mount.readonly && mount.recursiveReadonly ? ["rro"] : []),
    ],
  };
}

function defaultMounts(spec: ContainerSpec): OciMount[] {
  const sysAccess = spec.security.privileged ? "rw" : "ro";
  return [
    row("/proc", "proc", "nosuid noexec nodev"),
    row("/dev", "tmpfs", "nosuid strictatime mode=755 size=65536k"),
    row("/dev/pts", "devpts", "nosuid noexec newinstance ptmxmode=0666 mode=0620 gid=5"),
    row("/dev/shm", "tmpfs", "nosuid noexec nodev mode=1777 size=65536k"),
    row("/dev/mqueue", "mqueue", "nosuid noexec nodev"),
    row("/sys", "sysfs", `nosuid noexec nodev ${sysAccess}`),
    row("/sys/fs/cgroup", "cgroup", `nosuid noexec nodev relatime ${sysAccess}`),
  ];
}

function row(destination: string, type: string, options: string): OciMount {
  return { destination, type, source: type, options: options.split(" ") };
}

function byDepth(a: Ranked, b: Ranked): number {
  return depth(a.mount.destination) - depth(b.mount.destination) || a.index - b.index;
}

interface Ranked {
  readonly mount: OciMount;
  readonly index: number;
}

function depth(path: string): number {
  return path.split("/").filter(Boolean).length;
}

/** Propagation of the root, which must allow that of the mounts in it. */
export function rootPropagation(mounts: readonly Mount[]): string | undefined {
  if (mounts.some(({ propagation }) => propagation === "bidirectional")) return "rshared";
  if (mounts.some(({ propagation }) => propagation === "hostToContainer")) return "rslave";
  return undefined;
}

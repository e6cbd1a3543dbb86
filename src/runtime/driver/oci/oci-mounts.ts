import { posix } from "node:path";
import type { ContainerSpec, Mount } from "../driver.ts";
import type { OciMount } from "./oci-config.ts";

export const propagationOption = {
  private: "rprivate",
  hostToContainer: "rslave",
  bidirectional: "rshared",
} as const;

/** Every mount of a container: what each has by default, less what it brings itself, parents before children. */
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

/** Propagation into a mount needs the root above it to let it through. */
export function rootPropagation(mounts: readonly Mount[]): string | undefined {
  if (mounts.some(({ propagation }) => propagation === "bidirectional")) return "rshared";
  if (mounts.some(({ propagation }) => propagation === "hostToContainer")) return "rslave";
  return undefined;
}

import { statSync } from "node:fs";
import { posix } from "node:path";
import type { ContainerSpec, Mount } from "../driver.ts";
import { DriverError } from "../driver-error.ts";
import { propagationOption } from "../oci/oci-mounts.ts";
import { type ContainerTree, ensureTarget, hostPath, resolveInTree } from "./resolve-in-root.ts";
import { toolsInside } from "./seal-program.ts";

/** Where the machine's own root is inside, for the moment between the change of root and its end. */
export const oldRoot = "/dev/.old-root";

export type HostMount =
  | {
      readonly kind: "bind";
      readonly source: string;
      readonly target: string;
      readonly readonly: boolean;
      readonly recursiveReadonly: boolean;
      readonly propagation: (typeof propagationOption)[Mount["propagation"]];
    }
  | { readonly kind: "filesystem"; readonly type: string; readonly options: string; readonly target: string }
  | { readonly kind: "cover"; readonly target: string; readonly with: "nothing" | "readonly" };

/** Every mount of a container in order, with link-free targets that exist. Makes missing targets in the tree. */
export function planHostMounts(spec: ContainerSpec): HostMount[] {
  const own = [...spec.mounts].sort((a, b) => depth(a.destination) - depth(b.destination));
  const ownDestinations = new Set(own.map(({ destination }) => posix.resolve("/", destination)));
  const mounted: { destination: string; source: string }[] = [];
  const tree: ContainerTree = { rootfs: spec.rootfs, mounted };
  const plan: HostMount[] = [];

  for (const [destination, type, options] of standardMounts(spec)) {
    if (ownDestinations.has(destination)) continue;
    // /dev is made from nothing: what lies below it is made in the new one, by the script.
    const target = destination.startsWith("/dev/") ? destination : resolveInTree(tree, destination);
    if (!destination.startsWith("/dev/")) ensureTarget(tree, target, "directory");
    plan.push({ kind: "filesystem", type, options, target });
  }
  for (const mount of own) {
    const source = statSync(mount.source, { throwIfNoEntry: false });
    if (!source) throw new DriverError("invalid", `mount source ${mount.source} does not exist`);
    const target = resolveInTree(tree, mount.destination);
    if (holdsTools(target)) {
      throw new DriverError(
        "unsupported",
        `the host driver cannot mount anything at ${target}: what drops the container's privileges is there`,
      );
    }
    if (!isVirtual(target)) ensureTarget(tree, target, source.isDirectory() ? "directory" : "file");
    mounted.push({ destination: target, source: mount.source });
    plan.push({
      kind: "bind",
      source: mount.source,
      target,
      readonly: mount.readonly,
      recursiveReadonly: mount.recursiveReadonly,
      propagation: propagationOption[mount.propagation],
    });
  }
  if (spec.security.privileged) return plan;
  const cover = (paths: readonly string[], how: "nothing" | "readonly") =>
    paths.map((path): HostMount => ({ kind: "cover", target: resolveInTree(tree, path), with: how }));
  return [
    ...plan,
    ...cover(spec.security.readonlyPaths, "readonly"),
    ...cover(spec.security.maskedPaths, "nothing"),
  ];
}

/** Whether the program is there to be run, as the container will see its files. */
export function findInContainer(spec: ContainerSpec, program: string, path: string): boolean {
  const tree: ContainerTree = {
    rootfs: spec.rootfs,
    mounted: spec.mounts.map(({ destination, source }) => ({
      destination: posix.resolve("/", destination),
      source,
    })),
  };
  const candidates = program.includes("/")
    ? [posix.resolve(spec.workingDir || "/", program)]
    : path.split(":").map((folder) => posix.resolve("/", folder, program));
  return candidates.some((candidate) =>
    statSync(hostPath(tree, resolveInTree(tree, candidate)), { throwIfNoEntry: false })?.isFile(),
  );
}

function standardMounts(spec: ContainerSpec): [string, string, string][] {
  return [
    ["/proc", "proc", "nosuid,noexec,nodev"],
    ["/sys", "sysfs", `nosuid,noexec,nodev${spec.security.privileged ? "" : ",ro"}`],
    ["/dev", "tmpfs", "nosuid,strictatime,mode=755,size=65536k"],
    ["/dev/pts", "devpts", "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620,gid=5"],
    ["/dev/shm", "tmpfs", "nosuid,noexec,nodev,mode=1777,size=65536k"],
    ["/dev/mqueue", "mqueue", "nosuid,noexec,nodev"],
  ];
}

/** Whoever fills the directory of these tools decides what runs as root. */
function holdsTools(target: string): boolean {
  return [toolsInside, oldRoot].some(
    (path) =>
      target === "/" || path === target || path.startsWith(`${target}/`) || target.startsWith(`${path}/`),
  );
}

function isVirtual(target: string): boolean {
  return /^\/(dev|proc|sys)(\/|$)/.test(target);
}

function depth(path: string): number {
  return path.split("/").filter(Boolean).length;
}

import { posix } from "node:path";
import { quoteShell } from "../../../lib/process/run-program.ts";
import { containerTree } from "../contain-paths.ts";
import { type ContainerSpec, DriverError, type Mount } from "../driver.ts";
import { propagationOption } from "../oci/oci-config.ts";
import { type ContainerTree, resolveInRoot } from "../resolve-in-root.ts";
import { toolsInside } from "./host-tools.ts";

/** Path of the host's root inside the container between pivot_root and umount. */
export const oldRoot = "/dev/.old-root";

export interface HostBind {
  readonly kind: "bind";
  readonly source: string;
  readonly target: string;
  readonly readonly: boolean;
  readonly recursiveReadonly: boolean;
  readonly propagation: (typeof propagationOption)[Mount["propagation"]];
  /**
   * Location of the mount point: in the image's root, in the new /dev, or in a volume that other containers may change.
   */
  readonly place: "root" | "dev" | "volume";
}

export type HostMount =
  | HostBind
  | { readonly kind: "filesystem"; readonly type: string; readonly options: string; readonly target: string }
  | { readonly kind: "cover"; readonly target: string; readonly with: "nothing" | "readonly" };

/** Plans the mounts of a container in order. Its paths are those of containPaths: without links, and existing. */
export function planHostMounts(spec: ContainerSpec): HostMount[] {
  const own = spec.mounts.map((mount) => planBind(mount, spec.mounts));
  const ownTargets = new Set(own.map(({ target }) => target));
  const plan: HostMount[] = standardMounts(spec)
    .filter(([target]) => !ownTargets.has(target))
    .map(([target, type, options]) => ({ kind: "filesystem", type, options, target }));
  plan.push(...own);
  if (spec.security.privileged) return plan;
  const tree = containerTree(spec);
  const cover = (paths: readonly string[], how: "nothing" | "readonly") =>
    paths.map((path): HostMount => ({ kind: "cover", target: resolveInRoot(tree, path).path, with: how }));
  return [
    ...plan,
    ...cover(spec.security.readonlyPaths, "readonly"),
    ...cover(spec.security.maskedPaths, "nothing"),
  ];
}

function planBind(mount: Mount, all: readonly Mount[]): HostBind {
  const { source, destination: target, readonly, recursiveReadonly, propagation } = mount;
  if (holdsTools(target)) {
    throw new DriverError(
      "unsupported",
      `the host driver cannot mount anything at ${target}: it contains the programs that drop the container's privileges`,
    );
  }
  const inVolume = all.some(({ destination }) => target.startsWith(`${destination}/`));
  return {
    kind: "bind",
    source,
    target,
    readonly,
    recursiveReadonly,
    propagation: propagationOption[propagation],
    place: inVolume ? "volume" : target.startsWith("/dev/") ? "dev" : "root",
  };
}

/** Whether the program exists in the container's file tree. */
export function findInContainer(spec: ContainerSpec, program: string, path: string): boolean {
  const tree = containerTree(spec);
  const candidates = program.includes("/")
    ? [posix.resolve(spec.workingDir || "/", program)]
    : path.split(":").map((folder) => posix.resolve("/", folder, program));
  return candidates.some((candidate) => isFile(tree, candidate));
}

function isFile(tree: ContainerTree, path: string): boolean {
  try {
    return resolveInRoot(tree, path).type === "file";
  } catch (error) {
    if (error instanceof DriverError) return false;
    throw error;
  }
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

/** Whether the target would hide or change the directory of the tools, which run as root. */
function holdsTools(target: string): boolean {
  return [toolsInside, oldRoot].some(
    (path) =>
      target === "/" || path === target || path.startsWith(`${target}/`) || target.startsWith(`${path}/`),
  );
}

/**
 * Shell lines that bind a host path at its mount point; `inRoot` returns the quoted host path of a container's path.
 */
export function bindLines(mount: HostBind, inRoot: (path: string) => string): string[] {
  const target = inRoot(mount.target);
  switch (mount.place) {
    case "root":
      return bindAt(mount, target);
    case "dev":
      // The new /dev is empty, so the bind needs a mount point of its own type.
      return [
        `if [ -d ${quoteShell(mount.source)} ]; then mkdir -p ${target}`,
        `else mkdir -p ${inRoot(posix.dirname(mount.target))}; [ -e ${target} ] || : > ${target}; fi`,
        ...bindAt(mount, target),
      ];
    case "volume":
      return pinnedLines(mount, inRoot);
  }
}

/**
 * A running container can replace a mount point inside a volume by a link, which the kernel would follow outside of the
 * container's root. So the mount is created in the new /dev with its options, and moved to an open file descriptor
 * after the kernel has confirmed that this is inside. A directory is opened by its `.`, which no pipe or device has.
 */
function pinnedLines(mount: HostBind, inRoot: (path: string) => string): string[] {
  const target = inRoot(mount.target);
  const [directory, file] = [inRoot(oldRoot), inRoot(`${oldRoot}-file`)];
  const problem = `mount point ${mount.target} was replaced while the container was created`;
  return [
    `if [ -d ${quoteShell(mount.source)} ]; then`,
    `staged=${directory}; [ -d "$staged" ] || mkdir "$staged"; exec 9<${target}/.`,
    `else staged=${file}; : > "$staged"; [ -f ${target} ] && exec 9<${target}; fi`,
    `inside="$(readlink -f ${inRoot("/")})"${quoteShell(mount.target)}`,
    `if [ "$(readlink /proc/self/fd/9)" != "$inside" ]; then echo ${quoteShell(problem)} >&2; exit 1; fi`,
    ...bindAt(mount, '"$staged"'),
    'mount --no-canonicalize --move "$staged" /proc/self/fd/9',
    "exec 9<&-",
    `[ -d "$staged" ] || rm "$staged"`,
    // Below a shared mount it has become shared.
    `mount --make-${mount.propagation} ${target}`,
  ];
}

function bindAt({ source, propagation, readonly, recursiveReadonly }: HostBind, target: string): string[] {
  return [
    `mount --rbind --make-${propagation} ${readonly ? "-o ro " : ""}${quoteShell(source)} ${target}`,
    ...(readonly && recursiveReadonly
      ? [
          `findmnt -Rnlo TARGET ${target} | while IFS= read -r each; do mount -o remount,bind,ro "$each"; done`,
        ]
      : []),
  ];
}

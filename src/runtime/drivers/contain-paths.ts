import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { posix } from "node:path";
import { type ContainerSpec, DriverError, type Mount } from "./driver.ts";
import { type ContainerTree, makeInRoot, type ResolvedPath, resolveInRoot } from "./resolve-in-root.ts";

/** Directories with a kernel file system in every container. */
const kernelDirectories = { "/proc": "proc", "/sys": "sys", "/dev": "dev" } as const;
/** Mounts that the drivers add below them, unless the container has its own. */
const kernelMounts = ["/sys/fs/cgroup", "/dev/pts", "/dev/shm", "/dev/mqueue"];
/** Maximum number of resolution rounds. Links may lead one mount into another, whose links lead further. */
const maxRounds = 8;

/**
 * Returns the container with its mounts, working directory and devices at paths that contain no links and exist inside
 * its root. OCI runtimes resolve mount destinations themselves, but create links in `/dev` by following the image's;
 * the host driver mounts from outside of the root. Mounts are ordered, parents first.
 */
export async function containPaths(spec: ContainerSpec): Promise<ContainerSpec> {
  for (const path of Object.keys(kernelDirectories)) prepareKernelDirectory(spec, path);
  const sources = await Promise.all(spec.mounts.map(statSource));
  const kinds = new Map(
    spec.mounts.map(({ source }, i) => [source, sources[i]?.isDirectory() ? "directory" : "file"] as const),
  );
  const mounts = resolveMounts(spec);
  for (const [i, { source, destination }] of mounts.entries()) {
    const tree = containerTree({ rootfs: spec.rootfs, mounts: mounts.slice(0, i) });
    makeMountPoint(tree, destination, kinds.get(source) ?? "directory");
  }
  const tree = containerTree({ rootfs: spec.rootfs, mounts });
  for (const path of kernelMounts) checkKernelMount(tree, path);
  return {
    ...spec,
    mounts,
    workingDir: prepareWorkingDir(tree, spec.workingDir || "/"),
    devices: spec.devices.map((device) => ({
      ...device,
      containerPath: resolveInRoot(tree, device.containerPath).path,
    })),
  };
}

/** Tree that the container will see; of two mounts at one path the later one applies. */
export function containerTree({ rootfs, mounts }: Pick<ContainerSpec, "rootfs" | "mounts">): ContainerTree {
  return {
    rootfs,
    mounted: [
      ...Object.entries(kernelDirectories).map(([destination, kind]) => ({ destination, content: { kind } })),
      ...mounts.map(({ destination, source, readonly }) => ({
        // Containers of an earlier release have unresolved destinations.
        destination: posix.resolve("/", destination),
        content: { kind: "host", source, readonly } as const,
      })),
    ],
  };
}

/**
 * Prepares a kernel directory. Runtimes append its path to the root's on the host: a link would lead out of the root.
 */
function prepareKernelDirectory({ rootfs }: ContainerSpec, path: string): void {
  const tree = { rootfs, mounted: [] };
  const { links } = resolveInRoot(tree, path);
  if (links.length > 0) {
    throw new DriverError(
      "invalid",
      `the image has a symbolic link at ${path} (${links[0]}), where the container's own ${path} is mounted: make it a directory in the image`,
    );
  }
  makeMountPoint(tree, path, "directory");
}

/** Resolves destinations. Sorted again for as long as links change the order of depth. */
function resolveMounts(spec: ContainerSpec): Mount[] {
  let mounts = spec.mounts.map((mount) => ({ ...mount, destination: posix.resolve("/", mount.destination) }));
  for (let round = 0; round < maxRounds; round++) {
    const done: Mount[] = [];
    let followed = false;
    for (const mount of [...mounts].sort((a, b) => depth(a.destination) - depth(b.destination))) {
      const tree = containerTree({ rootfs: spec.rootfs, mounts: done });
      const resolved = resolveInRoot(tree, mount.destination);
      checkDestination(mount, resolved);
      followed ||= resolved.links.length > 0;
      done.push({ ...mount, destination: resolved.path });
    }
    if (!followed) return done;
    mounts = done;
  }
  throw new DriverError("invalid", "the mounts of the container lead into each other through symbolic links");
}

function checkDestination({ destination }: Mount, { path, links }: ResolvedPath): void {
  if (path === "/") {
    throw new DriverError("invalid", `cannot mount anything at ${destination}: it is the container's root`);
  }
  if (links.length > 0 && path in kernelDirectories) {
    throw new DriverError(
      "invalid",
      `cannot mount anything at ${destination}: it leads to ${path} through ${links.join(", ")}`,
    );
  }
}

/** Checks a mount that the drivers add: a volume at /dev or /sys may have links there. */
function checkKernelMount(tree: ContainerTree, path: string): void {
  if (tree.mounted.some(({ destination }) => destination === path)) return;
  const { links } = resolveInRoot(tree, path);
  if (links.length === 0) return;
  throw new DriverError(
    "invalid",
    `a volume has a symbolic link at ${path} (${links[0]}), where the container's own ${path} is mounted`,
  );
}

function makeMountPoint(tree: ContainerTree, path: string, kind: "directory" | "file"): void {
  const { type } = makeInRoot(tree, path, kind);
  if (type === "virtual" || (type === "directory") === (kind === "directory")) return;
  throw new DriverError(
    "invalid",
    `cannot mount a ${kind} at ${path}: the container has a ${type === "directory" ? type : "file"} there`,
  );
}

/** Creates the working directory if it is missing, as other runtimes do. */
function prepareWorkingDir(tree: ContainerTree, workingDir: string): string {
  if (!workingDir.startsWith("/"))
    throw new DriverError("invalid", `the working directory ${workingDir} is not an absolute path`);
  const { path, type } = resolveInRoot(tree, workingDir);
  if (type === "missing") makeInRoot(tree, path, "directory");
  else if (type !== "directory" && type !== "virtual")
    throw new DriverError("invalid", `the working directory ${workingDir} is not a directory`);
  return path;
}

async function statSource({ source }: Mount): Promise<Stats> {
  return stat(source).catch(() => {
    throw new DriverError("invalid", `mount source ${source} does not exist`);
  });
}

function depth(path: string): number {
  return path.split("/").filter(Boolean).length;
}

import { cp, lstat, mkdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  type ContainerConfig,
  type Mount as MountMessage,
  MountPropagation,
} from "../../cri/generated/cri.ts";
import type { Mount } from "../drivers/driver.ts";
import { invalidArgument, unimplemented } from "../errors/runtime-error.ts";
import type { SandboxFiles } from "../sandboxes/sandbox-files.ts";
import { resolveInRootfs } from "./resolve-user.ts";

const propagations = {
  [MountPropagation.PROPAGATION_PRIVATE]: "private",
  [MountPropagation.PROPAGATION_HOST_TO_CONTAINER]: "hostToContainer",
  [MountPropagation.PROPAGATION_BIDIRECTIONAL]: "bidirectional",
} as const;

const plain = { readonly: false, propagation: "private", recursiveReadonly: false } as const;

/** Mounts of the request. */
export async function requestedMounts(
  mounts: readonly MountMessage[],
  openImage: (reference: string, index: number) => Promise<string>,
): Promise<Mount[]> {
  const work = mounts.map(async (mount, index): Promise<Mount> => {
    checkMount(mount);
    const reference = mount.image?.image;
    if (reference) {
      const source = await imageSource(mount, await openImage(reference, index));
      return { ...plain, source, destination: mount.containerPath, readonly: true };
    }
    return {
      source: await hostSource(mount),
      destination: mount.containerPath,
      readonly: mount.readonly,
      propagation: propagations[mount.propagation],
      recursiveReadonly: mount.recursiveReadOnly,
    };
  });
  // All are awaited, so that no image is still being mounted when the first has failed.
  await Promise.allSettled(work);
  return Promise.all(work);
}

/** Resolves the source on the host. A missing one is created as a directory, as in containerd. */
async function hostSource({ hostPath }: MountMessage): Promise<string> {
  return realpath(hostPath).catch(async () => {
    await mkdir(hostPath, { recursive: true, mode: 0o755 });
    return realpath(hostPath);
  });
}

/** Resolves the source in an image. Symbolic links are resolved inside the image. */
async function imageSource({ image, imageSubPath }: MountMessage, root: string): Promise<string> {
  const source = resolveInRootfs(root, imageSubPath);
  if (source && (imageSubPath === "" || (await stat(source)).isDirectory())) return source;
  // Kubelets detect the failure by its first word.
  throw invalidArgument(
    `ImageVolumeMountFailed: image_sub_path ${imageSubPath} is not a directory of ${image?.image}`,
  );
}

function checkMount(mount: MountMessage): void {
  const { containerPath, hostPath, readonly, recursiveReadOnly, propagation } = mount;
  if (!containerPath.startsWith("/"))
    throw invalidArgument(`mount container_path ${containerPath} is not absolute`);
  const isImage = Boolean(mount.image?.image);
  if (isImage && hostPath !== "")
    throw invalidArgument(`mount ${containerPath}: host_path must be empty with an image`);
  if (!isImage && !hostPath.startsWith("/"))
    throw invalidArgument(`mount host_path ${hostPath} is not absolute`);
  if (mount.uidMappings.length + mount.gidMappings.length > 0)
    throw unimplemented(`mount ${containerPath}: id-mapped mounts are not supported`);
  if (!recursiveReadOnly) return;
  if (!readonly) throw invalidArgument(`mount ${containerPath}: recursive_read_only needs readonly`);
  if (propagation !== MountPropagation.PROPAGATION_PRIVATE)
    throw invalidArgument(`mount ${containerPath}: recursive_read_only needs private propagation`);
}

/** Mounts of the sandbox's files, except where the request mounts something itself. */
export function sandboxMounts(files: SandboxFiles, config: ContainerConfig): Mount[] {
  const taken = new Set(config.mounts.map(({ containerPath }) => containerPath));
  const readonly = config.linux?.securityContext?.readonlyRootfs ?? false;
  const all: Mount[] = [
    { ...plain, source: files.hostname, destination: "/etc/hostname", readonly },
    { ...plain, source: files.hosts, destination: "/etc/hosts", readonly },
    { ...plain, source: files.resolvConf, destination: "/etc/resolv.conf", readonly },
    { ...plain, source: files.shm, destination: "/dev/shm" },
  ];
  return all.filter(({ destination }) => !taken.has(destination));
}

/** Creates a host directory for each volume that the image declares, with the image's content. */
export async function volumeMounts(options: {
  readonly volumes: readonly string[];
  readonly rootfs: string;
  readonly directory: string;
  readonly taken: readonly Mount[];
}): Promise<Mount[]> {
  const { volumes, rootfs, directory, taken } = options;
  const free = volumes.filter((volume) => !taken.some(({ destination }) => destination === volume));
  return Promise.all(
    free.map(async (volume, i) => {
      const source = join(directory, `volume-${i}`);
      await mkdir(source, { recursive: true, mode: 0o755 });
      const inImage = resolveInRootfs(rootfs, volume);
      if (inImage && (await stat(inImage)).isDirectory())
        await cp(inImage, source, {
          recursive: true,
          verbatimSymlinks: true,
          preserveTimestamps: true,
          filter: isPlain,
        });
      return { ...plain, source, destination: volume };
    }),
  );
}

/**
 * Whether a file may be copied. Copying a device of the image outside of the container would open the host's device.
 */
async function isPlain(path: string): Promise<boolean> {
  const found = await lstat(path);
  return found.isFile() || found.isDirectory() || found.isSymbolicLink();
}

import { cp, lstat, mkdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  type ContainerConfig,
  type Mount as MountMessage,
  MountPropagation,
} from "../../cri/generated/cri.ts";
import type { Mount } from "../driver/driver.ts";
import { invalidArgument, unimplemented } from "../runtime-error.ts";
import type { SandboxFiles } from "../sandbox/sandbox-files.ts";
import { resolveInRootfs } from "./read-in-rootfs.ts";

const propagations = {
  [MountPropagation.PROPAGATION_PRIVATE]: "private",
  [MountPropagation.PROPAGATION_HOST_TO_CONTAINER]: "hostToContainer",
  [MountPropagation.PROPAGATION_BIDIRECTIONAL]: "bidirectional",
} as const;

const plain = { readonly: false, propagation: "private", recursiveReadonly: false } as const;

/** What the request asks for. */
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
  // No image is still being opened when the first has failed.
  await Promise.allSettled(work);
  return Promise.all(work);
}

/** One that is missing becomes a directory, as with containerd. */
async function hostSource({ hostPath }: MountMessage): Promise<string> {
  return realpath(hostPath).catch(async () => {
    await mkdir(hostPath, { recursive: true, mode: 0o755 });
    return realpath(hostPath);
  });
}

/** Links of the image lead nowhere but into the image. */
async function imageSource({ image, imageSubPath }: MountMessage, root: string): Promise<string> {
  const source = await resolveInRootfs(root, imageSubPath);
  if (source && (imageSubPath === "" || (await stat(source)).isDirectory())) return source;
  // Kubelets know the failure by its first word.
  throw invalidArgument(
    `ImageVolumeMountFailed: image_sub_path ${imageSubPath} is no directory of ${image?.image}`,
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

/** The sandbox's files, where the request does not mount something of its own there. */
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

/** A directory on the host for each volume that the image declares, filled with what the image has there. */
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
      const inImage = await resolveInRootfs(rootfs, volume);
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

/** Copying opens what it copies: here, outside of the container, a device of the image would be the machine's own. */
async function isPlain(path: string): Promise<boolean> {
  const found = await lstat(path);
  return found.isFile() || found.isDirectory() || found.isSymbolicLink();
}

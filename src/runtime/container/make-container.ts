import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  type ContainerConfig,
  type LinuxContainerSecurityContext,
  SupplementalGroupsPolicy,
} from "../../cri/generated/cri.ts";
import type { Image } from "../image/images.ts";
import { failedPrecondition, invalidArgument } from "../runtime-error.ts";
import { sandboxFiles } from "../sandbox/sandbox-files.ts";
import type { ContainerRecord } from "../state/container-record.ts";
import { objectDirectory, type RuntimeState } from "../state/runtime-state.ts";
import type { SandboxNamespaces, SandboxRecord } from "../state/sandbox-record.ts";
import { buildContainerSpec } from "./build-container-spec.ts";
import { requestedMounts, sandboxMounts, volumeMounts } from "./container-mounts.ts";
import { containerNamespaces } from "./container-namespaces.ts";
import { readInRootfs } from "./read-in-rootfs.ts";
import { type ResolvedUser, resolveUser, type UserRequest } from "./resolve-user.ts";

type Deps = Pick<RuntimeState, "dataDir" | "driver" | "images" | "containers">;

/** Makes a container up to its waiting process. What a failure leaves, discardContainer removes. */
export async function makeContainer(
  deps: Deps,
  options: {
    readonly container: ContainerRecord;
    readonly sandbox: SandboxRecord & { state: { namespaces: SandboxNamespaces } };
    readonly image: Image;
  },
): Promise<ResolvedUser> {
  const { container, sandbox, image } = options;
  const { id, config, logPath } = container;
  const directory = objectDirectory(deps, "containers", id);
  const parts = [
    deps.images.createRootfs({ containerId: id, image }),
    requestedMounts(config.mounts, (reference, index) =>
      openImageVolume(deps, { containerId: id, reference, index }),
    ),
    containerNamespaces(deps, sandbox, config),
    mkdir(directory, { recursive: true, mode: 0o755 }),
    logPath && mkdir(dirname(logPath), { recursive: true }),
  ] as const;
  // All are waited for, so that nothing is still being made when the first has failed and the rest is removed.
  await Promise.allSettled(parts);
  const [rootfs, mounts, namespaces] = await Promise.all(parts);
  const files = sandboxFiles(objectDirectory(deps, "sandboxes", sandbox.id), sandbox.config);
  const ownMounts = [...sandboxMounts(files, config), ...mounts];
  const [user, volumes] = await Promise.all([
    lookUpUser(rootfs.path, userRequest(config, image)),
    volumeMounts({ volumes: image.config.volumes, rootfs: rootfs.path, directory, taken: ownMounts }),
  ]);
  const spec = buildContainerSpec({
    id,
    handler: sandbox.runtimeHandler,
    config,
    sandboxConfig: sandbox.config,
    image: image.config,
    rootfs: rootfs.path,
    user,
    mounts: [...ownMounts, ...volumes],
    namespaces,
    logPath,
  });
  await deps.driver.create(spec);
  return user;
}

/** An image as a volume; it is removed with the container's root file system. */
async function openImageVolume(
  { images }: Pick<Deps, "images">,
  { containerId, reference, index }: { containerId: string; reference: string; index: number },
): Promise<string> {
  const image = images.find(reference);
  // Kubelets know the failure by its first word.
  if (!image)
    throw failedPrecondition(`ImageVolumeMountFailed: image ${reference} is not here; pull it first`);
  return (await images.createRootfs({ containerId, volume: `${index}`, image })).path;
}

/** Removes every trace of a container, in whatever state it is. Idempotent. */
export async function discardContainer(
  deps: Pick<Deps, "dataDir" | "driver" | "images">,
  id: string,
): Promise<void> {
  await deps.driver.remove(id);
  await deps.images.removeRootfs(id);
  await rm(objectDirectory(deps, "containers", id), { recursive: true, force: true });
}

/** Where the log goes: both halves are needed, as kubelets send them. */
export function logPathOf(logDirectory: string, logPath: string): string {
  return logDirectory && logPath ? join(logDirectory, logPath) : "";
}

async function lookUpUser(rootfs: string, request: UserRequest): Promise<ResolvedUser> {
  const [passwd, group] = await Promise.all([
    readInRootfs(rootfs, "/etc/passwd"),
    readInRootfs(rootfs, "/etc/group"),
  ]);
  return resolveUser(request, { passwd, group });
}

function userRequest(config: ContainerConfig, image: Image): UserRequest {
  const context = config.linux?.securityContext;
  const user = requestedUser(context);
  // CRI leaves no choice: the group of one user must not come to another that only the image knows.
  if (context?.runAsGroup && user === undefined)
    throw invalidArgument("run_as_group is set without run_as_user or run_as_username: say who it is for");
  return {
    user: user ?? image.config.user,
    group: context?.runAsGroup && Number(context.runAsGroup.value),
    supplementalGroups: (context?.supplementalGroups ?? []).map(Number),
    mergeImageGroups: context?.supplementalGroupsPolicy !== SupplementalGroupsPolicy.Strict,
  };
}

function requestedUser(context: LinuxContainerSecurityContext | undefined): string | undefined {
  if (context?.runAsUser) return String(context.runAsUser.value);
  return context?.runAsUsername || undefined;
}

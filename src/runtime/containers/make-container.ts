import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  type ContainerConfig,
  ContainerEventType,
  type LinuxContainerSecurityContext,
  NamespaceMode,
  SupplementalGroupsPolicy,
} from "../../cri/generated/cri.ts";
import type { Driver, Namespaces } from "../drivers/driver.ts";
import { failedPrecondition, invalidArgument } from "../errors/runtime-error.ts";
import type { Image } from "../images/images.ts";
import { containerAnnotations } from "../sandboxes/sandbox-container.ts";
import { sandboxFiles } from "../sandboxes/sandbox-files.ts";
import type { ContainerRecord } from "../state/container-record.ts";
import { objectDirectory, publishEvent, type RuntimeState } from "../state/runtime-state.ts";
import type { ReadySandbox, SandboxNamespaces, SandboxRecord } from "../state/sandbox-record.ts";
import { buildContainerSpec } from "./build-container-spec.ts";
import { requestedMounts, sandboxMounts, volumeMounts } from "./container-mounts.ts";
import { type ResolvedUser, readInRootfs, resolveUser, type UserRequest } from "./resolve-user.ts";

type Deps = Pick<RuntimeState, "dataDir" | "driver" | "images" | "containers">;

/** Creates a container up to its waiting process. After a failure, discardContainer removes what was created. */
export async function makeContainer(
  deps: Deps,
  options: {
    readonly container: ContainerRecord;
    readonly sandbox: SandboxRecord & { state: ReadySandbox };
    readonly image: Image;
    readonly signal: AbortSignal;
  },
): Promise<ResolvedUser> {
  const { container, sandbox, image, signal } = options;
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
  // All are awaited, so that nothing is still being created when the first has failed and the rest is removed.
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
    runtimeAnnotations: containerAnnotations(sandbox, config),
  });
  await deps.driver.create(spec, { signal });
  return user;
}

/** Mounts an image as a volume, which is removed with the container's root file system. */
async function openImageVolume(
  { images }: Pick<Deps, "images">,
  { containerId, reference, index }: { containerId: string; reference: string; index: number },
): Promise<string> {
  const image = images.find(reference);
  // Kubelets detect the failure by its first word.
  if (!image)
    throw failedPrecondition(`ImageVolumeMountFailed: image ${reference} is not here; pull it first`);
  return (await images.createRootfs({ containerId, volume: `${index}`, image })).path;
}

/** Removes a container completely, whatever its state. Idempotent. */
export async function discardContainer(
  deps: Pick<Deps, "dataDir" | "driver" | "images">,
  id: string,
): Promise<void> {
  await deps.driver.remove(id);
  await deps.images.removeRootfs(id);
  await rm(objectDirectory(deps, "containers", id), { recursive: true, force: true });
}

/** Path of the log file. Kubelets send both parts; without one of them there is no log. */
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
  // Required by CRI: the group must not apply to a user that only the image specifies.
  if (context?.runAsGroup && user === undefined)
    throw invalidArgument("run_as_group is set without run_as_user or run_as_username; set one of them");
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

/** The sandbox's namespaces and the PID namespace that the container requests. */
async function containerNamespaces(
  deps: Deps,
  sandbox: SandboxRecord & { state: { namespaces: SandboxNamespaces } },
  config: ContainerConfig,
): Promise<Namespaces> {
  const { network, ipc, uts } = sandbox.state.namespaces;
  return { network, ipc, uts, pid: await pidNamespace(deps, sandbox, config) };
}

async function pidNamespace(
  { driver, containers }: Deps,
  sandbox: SandboxRecord & { state: { namespaces: SandboxNamespaces } },
  config: ContainerConfig,
): Promise<Namespaces["pid"]> {
  const options = config.linux?.securityContext?.namespaceOptions;
  switch (options?.pid) {
    case NamespaceMode.NODE:
      return "host";
    case NamespaceMode.TARGET: {
      const target = containers.find(options.targetId);
      if (target.sandboxId !== sandbox.id) throw invalidArgument(`${options.targetId} is in another sandbox`);
      return pidNamespaceOf(driver, target.id);
    }
    case NamespaceMode.POD:
    case undefined:
      // Without a pause process no namespace is shared, because the pod requested none.
      return sandbox.state.namespaces.pid === "pause" ? pidNamespaceOf(driver, sandbox.id) : "new";
    case NamespaceMode.CONTAINER:
      return "new";
  }
}

async function pidNamespaceOf(driver: Driver, containerId: string): Promise<string> {
  const state = await driver.state(containerId);
  if (state.kind !== "running")
    throw failedPrecondition(`${containerId} is not running: its processes cannot be shared`);
  return `/proc/${state.pid}/ns/pid`;
}

/** Removes a container completely; kills it if it runs. */
export async function removeContainer(state: RuntimeState, { id }: ContainerRecord): Promise<void> {
  await state.locks.run(id, async () => {
    const container = state.containers.get(id);
    if (!container) return;
    await discardContainer(state, id);
    await state.containers.remove(id);
    publishEvent(state, {
      sandboxId: container.sandboxId,
      containerId: id,
      type: ContainerEventType.CONTAINER_DELETED_EVENT,
    });
  });
}

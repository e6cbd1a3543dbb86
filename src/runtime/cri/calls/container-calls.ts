import { matchesLabels, newObjectId } from "../../../cri/field-values.ts";
import {
  type ContainerConfig,
  ContainerEventType,
  type ContainerFilter,
  type ContainerStatusRequest,
  type ContainerStatusResponse,
  type CreateContainerRequest,
  type CreateContainerResponse,
  type ListContainersRequest,
  type ListContainersResponse,
  type RemoveContainerRequest,
  type RemoveContainerResponse,
  type ReopenContainerLogRequest,
  type ReopenContainerLogResponse,
  type StartContainerRequest,
  type StartContainerResponse,
  type StopContainerRequest,
  type StopContainerResponse,
} from "../../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../../cri/serve-call.ts";
import { messageOf } from "../../../lib/message-of.ts";
import {
  discardContainer,
  logPathOf,
  makeContainer,
  removeContainer,
} from "../../containers/make-container.ts";
import { recordExit, stopContainer, watchExit } from "../../containers/stop-container.ts";
import { alreadyExists, failedPrecondition, invalidArgument, notFound } from "../../errors/runtime-error.ts";
import type { Image } from "../../images/images.ts";
import {
  type ContainerRecord,
  containerMessage,
  containerName,
  containerStateValue,
  containerStatusMessage,
  encodeContainer,
  stopSignalOf,
} from "../../state/container-record.ts";
import { publishEvent, type RuntimeState } from "../../state/runtime-state.ts";
import type { SandboxRecord } from "../../state/sandbox-record.ts";
import { checkHandler, findOrMissing, findRunning } from "./find-records.ts";

export function createContainer(
  state: RuntimeState,
): UnaryRpc<CreateContainerRequest, CreateContainerResponse> {
  return async (request, { signal }) => {
    const { config } = request;
    if (!config) throw invalidArgument("config is missing");
    if (!config.metadata?.name) throw invalidArgument("config.metadata.name is missing");
    if (!config.image?.image) throw invalidArgument("config.image.image is missing");
    const sandboxId = state.sandboxes.find(request.podSandboxId).id;
    // Under the sandbox's lock: a sandbox that is being stopped gets no more containers.
    return state.locks.run(sandboxId, () => create(state, { sandboxId, config, signal }));
  };
}

async function create(
  state: RuntimeState,
  {
    sandboxId,
    config,
    signal,
  }: { readonly sandboxId: string; readonly config: ContainerConfig; readonly signal: AbortSignal },
): Promise<CreateContainerResponse> {
  const { containers, images, logger } = state;
  const sandbox = state.sandboxes.find(sandboxId);
  if (sandbox.state.kind !== "ready") throw failedPrecondition(`sandbox ${sandboxId} is not ready`);
  // The handler may have been removed from the configuration; no other runtime can create its containers.
  checkHandler(state, sandbox.runtimeHandler);
  const image = images.find(config.image?.image ?? "");
  if (!image) throw notFound("image", config.image?.image ?? "");
  const name = containerName(sandboxId, config);
  const other = containers.list().find((one) => containerName(one.sandboxId, one.config) === name);
  if (other) throw alreadyExists(`container ${name} exists: ${other.id}`);

  const container = newRecord(state, { sandbox, image, config });
  await containers.put(container);
  try {
    const made = await makeContainer(state, {
      container,
      sandbox: { ...sandbox, state: sandbox.state },
      image,
      signal,
    });
    await containers.put({ ...container, user: made, state: { kind: "created" } });
  } catch (error) {
    await discardContainer(state, container.id).catch((left: unknown) =>
      logger.error("cannot clean up a container that failed to be created", {
        container: container.id,
        error: left,
      }),
    );
    await containers.remove(container.id);
    throw error;
  }
  publishEvent(state, {
    sandboxId,
    containerId: container.id,
    type: ContainerEventType.CONTAINER_CREATED_EVENT,
  });
  return { containerId: container.id };
}

function newRecord(
  { clock }: RuntimeState,
  { sandbox, image, config }: { sandbox: SandboxRecord; image: Image; config: ContainerConfig },
): ContainerRecord {
  return {
    id: newObjectId(),
    sandboxId: sandbox.id,
    config,
    imageId: image.id,
    imageRef: image.repoDigests[0] ?? image.id,
    user: { uid: 0, gid: 0, additionalGids: [] },
    stopSignal: stopSignalOf(config.stopSignal, image.config.stopSignal),
    logPath: logPathOf(sandbox.config.logDirectory, config.logPath),
    createdAt: clock.now(),
    state: { kind: "making" },
  };
}

/** Exit code for a process that could not be started, as in other runtimes. */
const startFailedCode = 128;

export function startContainer(state: RuntimeState): UnaryRpc<StartContainerRequest, StartContainerResponse> {
  return async ({ containerId }) => {
    const { id } = state.containers.find(containerId);
    await state.locks.run(id, () => start(state, state.containers.find(id)));
    return {};
  };
}

async function start(state: RuntimeState, container: ContainerRecord): Promise<void> {
  const { containers, driver, clock } = state;
  const { id, sandboxId } = container;
  if (container.state.kind !== "created")
    throw failedPrecondition(
      `container ${id} is ${container.state.kind}; only a created container can be started`,
    );
  if (state.sandboxes.get(sandboxId)?.state.kind !== "ready")
    throw failedPrecondition(`sandbox ${sandboxId} is not ready`);
  try {
    await driver.start(id);
  } catch (error) {
    const finishedAt = clock.now();
    const message = messageOf(error);
    const exitCode = startFailedCode;
    await recordExit(state, id, {
      kind: "exited",
      exitCode,
      startedAt: 0,
      finishedAt,
      reason: "StartError",
      message,
    });
    throw error;
  }
  await containers.put({ ...container, state: { kind: "running", startedAt: clock.now() } });
  publishEvent(state, { sandboxId, containerId: id, type: ContainerEventType.CONTAINER_STARTED_EVENT });
  watchExit(state, id);
}

/** Stops a container. Succeeds if it does not exist or has exited. */
export function stopContainerCall(
  state: RuntimeState,
): UnaryRpc<StopContainerRequest, StopContainerResponse> {
  return async ({ containerId, timeout }) => {
    const container = findOrMissing(state.containers, containerId);
    if (container) await stopContainer(state, container, { timeoutMs: 1_000 * Number(timeout) });
    return {};
  };
}

/** Removes a container; kills it if it runs. Succeeds if it does not exist. */
export function removeContainerCall(
  state: RuntimeState,
): UnaryRpc<RemoveContainerRequest, RemoveContainerResponse> {
  return async ({ containerId }) => {
    const container = findOrMissing(state.containers, containerId);
    if (container) await removeContainer(state, container);
    return {};
  };
}

type StatusDeps = Pick<RuntimeState, "containers" | "driver">;

export function containerStatus(deps: StatusDeps): UnaryRpc<ContainerStatusRequest, ContainerStatusResponse> {
  return async ({ containerId, verbose }) => {
    const container = deps.containers.find(containerId);
    return {
      status: containerStatusMessage(container),
      info: { ...(verbose && { info: JSON.stringify(await containerInfo(deps, container)) }) },
    };
  };
}

/** Verbose information. `crictl inspect` reads the PID from it. */
async function containerInfo({ driver }: StatusDeps, container: ContainerRecord): Promise<unknown> {
  const state = await driver.state(container.id);
  const pid = state.kind === "running" ? state.pid : 0;
  return { sandboxID: container.sandboxId, pid, driver: driver.name, record: encodeContainer(container) };
}

export function listContainers({
  containers,
}: Pick<RuntimeState, "containers">): UnaryRpc<ListContainersRequest, ListContainersResponse> {
  return async ({ filter }) => ({
    containers: containers
      .list()
      .filter((container) => container.state.kind !== "making")
      .filter((container) => !filter || matchesContainer(container, filter))
      .map(containerMessage),
  });
}

function matchesContainer(container: ContainerRecord, filter: ContainerFilter): boolean {
  return (
    container.id.startsWith(filter.id) &&
    container.sandboxId.startsWith(filter.podSandboxId) &&
    (!filter.state || filter.state.state === containerStateValue(container)) &&
    matchesLabels(container.config.labels, filter.labelSelector)
  );
}

/** Reopens a container's log. Kubelets call it after they have renamed a full log. */
export function reopenContainerLog(
  state: Pick<RuntimeState, "containers" | "driver">,
): UnaryRpc<ReopenContainerLogRequest, ReopenContainerLogResponse> {
  return async ({ containerId }) => {
    await state.driver.reopenLog(findRunning(state, containerId).id);
    return {};
  };
}

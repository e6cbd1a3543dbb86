import type {
  ContainerConfig,
  CreateContainerRequest,
  CreateContainerResponse,
} from "../../cri/generated/cri.ts";
import { ContainerEventType } from "../../cri/generated/cri.ts";
import { newObjectId } from "../../cri/object-id.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import { discardContainer, logPathOf, makeContainer } from "../container/make-container.ts";
import { stopSignalOf } from "../container/stop-signal.ts";
import type { Image } from "../image/images.ts";
import { alreadyExists, failedPrecondition, invalidArgument, notFound } from "../runtime-error.ts";
import { type ContainerRecord, containerName } from "../state/container-record.ts";
import { publishEvent } from "../state/publish-event.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import type { SandboxRecord } from "../state/sandbox-record.ts";

export function createContainer(
  state: RuntimeState,
): UnaryRpc<CreateContainerRequest, CreateContainerResponse> {
  return async (request) => {
    const { config } = request;
    if (!config) throw invalidArgument("config is missing");
    if (!config.metadata?.name) throw invalidArgument("config.metadata.name is missing");
    if (!config.image?.image) throw invalidArgument("config.image.image is missing");
    const sandboxId = state.sandboxes.find(request.podSandboxId).id;
    // With the sandbox's lock: a sandbox that is being stopped gets no more containers.
    return state.locks.run(sandboxId, () => create(state, sandboxId, config));
  };
}

async function create(
  state: RuntimeState,
  sandboxId: string,
  config: ContainerConfig,
): Promise<CreateContainerResponse> {
  const { containers, images, logger } = state;
  const sandbox = state.sandboxes.find(sandboxId);
  if (sandbox.state.kind !== "ready") throw failedPrecondition(`sandbox ${sandboxId} is not ready`);
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
    });
    await containers.put({ ...container, user: made, state: { kind: "created" } });
  } catch (error) {
    await discardContainer(state, container.id).catch((left: unknown) =>
      logger.error("a failed container left something behind", { container: container.id, error: left }),
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

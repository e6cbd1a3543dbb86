import { matchesLabels, newObjectId, toNanos } from "../../../cri/field-values.ts";
import {
  ContainerEventType,
  type ListPodSandboxRequest,
  type ListPodSandboxResponse,
  NamespaceMode,
  type PodSandboxConfig,
  type PodSandboxFilter,
  type PodSandboxStatusRequest,
  type PodSandboxStatusResponse,
  type RemovePodSandboxRequest,
  type RemovePodSandboxResponse,
  type RunPodSandboxRequest,
  type RunPodSandboxResponse,
  type StopPodSandboxRequest,
  type StopPodSandboxResponse,
} from "../../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../../cri/serve-call.ts";
import { removeContainer } from "../../containers/make-container.ts";
import { stopSandbox } from "../../containers/stop-container.ts";
import { alreadyExists, invalidArgument, unimplemented } from "../../errors/runtime-error.ts";
import { discardSandbox, makeSandbox } from "../../sandboxes/make-sandbox.ts";
import { watchSandboxContainer } from "../../sandboxes/sandbox-container.ts";
import { containerStatusMessage } from "../../state/container-record.ts";
import { publishEvent, type RuntimeState } from "../../state/runtime-state.ts";
import {
  encodeSandbox,
  type SandboxRecord,
  sandboxMessage,
  sandboxName,
  sandboxStateValue,
  sandboxStatusMessage,
} from "../../state/sandbox-record.ts";
import { checkHandler, findOrMissing } from "./find-records.ts";

export function runPodSandbox(state: RuntimeState): UnaryRpc<RunPodSandboxRequest, RunPodSandboxResponse> {
  return async (request, { signal }) => {
    const config = checkConfig(state, request);
    const { sandboxes, clock, logger } = state;
    const name = sandboxName(config);
    const other = sandboxes.list().find((sandbox) => sandboxName(sandbox.config) === name);
    if (other) throw alreadyExists(`sandbox ${name} exists: ${other.id}`);
    const sandbox: SandboxRecord = {
      id: newObjectId(),
      config,
      runtimeHandler: request.runtimeHandler,
      createdAt: clock.now(),
      state: { kind: "making" },
    };
    await state.locks.run(sandbox.id, async () => {
      // The name is reserved by the first put, before anything is awaited.
      await sandboxes.put(sandbox);
      try {
        const made = await makeSandbox(state, sandbox, { signal });
        await sandboxes.put({ ...sandbox, state: made });
      } catch (error) {
        await discardSandbox(state, sandbox.id).catch((left: unknown) =>
          logger.error("cannot clean up a sandbox that failed to be created", {
            sandbox: sandbox.id,
            error: left,
          }),
        );
        await sandboxes.remove(sandbox.id);
        throw error;
      }
    });
    watchSandboxContainer(state, sandbox.id);
    publishEvent(state, { sandboxId: sandbox.id, type: ContainerEventType.CONTAINER_CREATED_EVENT });
    publishEvent(state, { sandboxId: sandbox.id, type: ContainerEventType.CONTAINER_STARTED_EVENT });
    return { podSandboxId: sandbox.id };
  };
}

function checkConfig(state: RuntimeState, request: RunPodSandboxRequest): PodSandboxConfig {
  const { config, runtimeHandler } = request;
  if (!config) throw invalidArgument("config is missing");
  if (!config.metadata?.name) throw invalidArgument("config.metadata.name is missing");
  checkHandler(state, runtimeHandler);
  const userns = config.linux?.securityContext?.namespaceOptions?.usernsOptions;
  if (userns?.mode === NamespaceMode.POD && userns.uids.length > 0)
    throw unimplemented("user namespaces for pods are not supported");
  return config;
}

/** Stops a sandbox. Kubelets repeat the call until it succeeds, so every step is idempotent. */
export function stopPodSandbox(state: RuntimeState): UnaryRpc<StopPodSandboxRequest, StopPodSandboxResponse> {
  return async ({ podSandboxId }) => {
    const sandbox = findOrMissing(state.sandboxes, podSandboxId);
    if (sandbox)
      await state.locks.run(sandbox.id, async () => {
        if (state.sandboxes.get(sandbox.id)) await stopSandbox(state, sandbox.id);
      });
    return {};
  };
}

/** Removes a sandbox with everything in it, running or not. */
export function removePodSandbox(
  state: RuntimeState,
): UnaryRpc<RemovePodSandboxRequest, RemovePodSandboxResponse> {
  return async ({ podSandboxId }) => {
    const sandbox = findOrMissing(state.sandboxes, podSandboxId);
    if (sandbox) await state.locks.run(sandbox.id, () => removeSandbox(state, sandbox.id));
    return {};
  };
}

async function removeSandbox(state: RuntimeState, id: string): Promise<void> {
  const { sandboxes, containers } = state;
  if (!sandboxes.get(id)) return;
  await stopSandbox(state, id);
  const members = containers.list().filter(({ sandboxId }) => sandboxId === id);
  await Promise.all(members.map((container) => removeContainer(state, container)));
  await discardSandbox(state, id);
  publishEvent(state, { sandboxId: id, type: ContainerEventType.CONTAINER_DELETED_EVENT });
  await sandboxes.remove(id);
}

export function podSandboxStatus({
  sandboxes,
  containers,
  clock,
}: Pick<RuntimeState, "sandboxes" | "containers" | "clock">): UnaryRpc<
  PodSandboxStatusRequest,
  PodSandboxStatusResponse
> {
  return async ({ podSandboxId, verbose }) => {
    const sandbox = sandboxes.find(podSandboxId);
    const members = containers
      .list()
      .filter(({ sandboxId, state }) => sandboxId === sandbox.id && state.kind !== "making");
    return {
      status: sandboxStatusMessage(sandbox),
      info: { ...(verbose && { info: JSON.stringify(encodeSandbox(sandbox)) }) },
      containersStatuses: members.map(containerStatusMessage),
      timestamp: toNanos(clock.now()),
    };
  };
}

export function listPodSandbox({
  sandboxes,
}: Pick<RuntimeState, "sandboxes">): UnaryRpc<ListPodSandboxRequest, ListPodSandboxResponse> {
  return async ({ filter }) => ({
    items: sandboxes
      .list()
      .filter((sandbox) => sandbox.state.kind !== "making")
      .filter((sandbox) => !filter || matchesSandbox(sandbox, filter))
      .map(sandboxMessage),
  });
}

function matchesSandbox(sandbox: SandboxRecord, filter: PodSandboxFilter): boolean {
  return (
    sandbox.id.startsWith(filter.id) &&
    (!filter.state || filter.state.state === sandboxStateValue(sandbox)) &&
    matchesLabels(sandbox.config.labels, filter.labelSelector)
  );
}

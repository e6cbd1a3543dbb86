import type { RunPodSandboxRequest, RunPodSandboxResponse } from "../../cri/generated/cri.ts";
import { ContainerEventType, NamespaceMode, type PodSandboxConfig } from "../../cri/generated/cri.ts";
import { newObjectId } from "../../cri/object-id.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import { alreadyExists, failedPrecondition, invalidArgument, unimplemented } from "../runtime-error.ts";
import { makeSandbox } from "../sandbox/make-sandbox.ts";
import { discardSandbox } from "../sandbox/release-sandbox.ts";
import { watchPause } from "../sandbox/watch-pause.ts";
import { publishEvent } from "../state/publish-event.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import { type SandboxRecord, sandboxName } from "../state/sandbox-record.ts";

export function runPodSandbox(state: RuntimeState): UnaryRpc<RunPodSandboxRequest, RunPodSandboxResponse> {
  return async (request) => {
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
      // The name is taken with the first put, before anything is waited for.
      await sandboxes.put(sandbox);
      try {
        const made = await makeSandbox(state, sandbox);
        await sandboxes.put({ ...sandbox, state: made });
      } catch (error) {
        await discardSandbox(state, sandbox.id).catch((left: unknown) =>
          logger.error("a failed sandbox left something behind", { sandbox: sandbox.id, error: left }),
        );
        await sandboxes.remove(sandbox.id);
        throw error;
      }
    });
    watchPause(state, sandbox.id);
    publishEvent(state, { sandboxId: sandbox.id, type: ContainerEventType.CONTAINER_CREATED_EVENT });
    publishEvent(state, { sandboxId: sandbox.id, type: ContainerEventType.CONTAINER_STARTED_EVENT });
    return { podSandboxId: sandbox.id };
  };
}

function checkConfig({ driver, handlers }: RuntimeState, request: RunPodSandboxRequest): PodSandboxConfig {
  const { config, runtimeHandler } = request;
  if (!config) throw invalidArgument("config is missing");
  if (!config.metadata?.name) throw invalidArgument("config.metadata.name is missing");
  const handler = handlers.find(({ name }) => name === runtimeHandler);
  if (!handler && runtimeHandler !== "" && runtimeHandler !== driver.name)
    throw invalidArgument(`no runtime for "${runtimeHandler}" is configured`);
  if (handler?.kind === "broken")
    throw failedPrecondition(`the runtime for "${runtimeHandler}" does not work: ${handler.problem}`);
  const userns = config.linux?.securityContext?.namespaceOptions?.usernsOptions;
  if (userns?.mode === NamespaceMode.POD && userns.uids.length > 0)
    throw unimplemented("user namespaces for pods are not supported");
  return config;
}

import type { StartContainerRequest, StartContainerResponse } from "../../cri/generated/cri.ts";
import { ContainerEventType } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import { messageOf } from "../../lib/message-of.ts";
import { recordExit, watchExit } from "../container/watch-exit.ts";
import { failedPrecondition } from "../runtime-error.ts";
import type { ContainerRecord } from "../state/container-record.ts";
import { publishEvent } from "../state/publish-event.ts";
import type { RuntimeState } from "../state/runtime-state.ts";

/** What runtimes report for a process that could not be started. */
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
    throw failedPrecondition(`container ${id} is ${container.state.kind}: only a created one can be started`);
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

import { ContainerEventType } from "../../cri/generated/cri.ts";
import type { ExitedState } from "../driver/driver.ts";
import type { ExitedRecordState } from "../state/container-record.ts";
import { publishEvent } from "../state/publish-event.ts";
import type { RuntimeState } from "../state/runtime-state.ts";

/** Keeps what the driver tells of a container's end, and tells subscribers. Once per running container. */
export function watchExit(state: RuntimeState, containerId: string): void {
  state.driver.wait(containerId, state.stopping).then(
    (exit) => recordExit(state, containerId, exitedState(exit)),
    (error: unknown) => {
      // Removed, or the daemon stops: the next one finds the exit code where the driver keeps it.
      if (!state.stopping.aborted && state.containers.get(containerId))
        state.logger.warn("cannot wait for a container", { container: containerId, error });
    },
  );
}

/** Does nothing when its end is already known: the driver and a stop may both bring the news. */
export async function recordExit(
  state: RuntimeState,
  containerId: string,
  exit: ExitedRecordState,
): Promise<void> {
  const container = state.containers.get(containerId);
  if (!container || container.state.kind === "exited") return;
  const written = state.containers.put({ ...container, state: exit });
  publishEvent(state, {
    sandboxId: container.sandboxId,
    containerId,
    type: ContainerEventType.CONTAINER_STOPPED_EVENT,
  });
  await written;
}

/** With the reasons that kubectl shows. */
export function exitedState({ exitCode, startedAt, finishedAt, oomKilled }: ExitedState): ExitedRecordState {
  const reason = oomKilled ? "OOMKilled" : exitCode === 0 ? "Completed" : "Error";
  return { kind: "exited", exitCode, startedAt, finishedAt, reason, message: "" };
}

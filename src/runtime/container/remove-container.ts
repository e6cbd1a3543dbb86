import { ContainerEventType } from "../../cri/generated/cri.ts";
import type { ContainerRecord } from "../state/container-record.ts";
import { publishEvent } from "../state/publish-event.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import { discardContainer } from "./make-container.ts";

/** Kills it if it runs, and removes every trace. */
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

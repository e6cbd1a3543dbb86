import { ContainerEventType } from "../../cri/generated/cri.ts";
import { publishEvent } from "../state/publish-event.ts";
import type { RuntimeState } from "../state/runtime-state.ts";

/** A sandbox whose pause process ends is not ready any more: its containers ended with it. */
export function watchPause(state: RuntimeState, sandboxId: string): void {
  const sandbox = state.sandboxes.get(sandboxId);
  if (sandbox?.state.kind !== "ready" || sandbox.state.namespaces.pid !== "pause") return;
  state.driver.wait(sandboxId, state.stopping).then(
    async () => {
      if (state.sandboxes.get(sandboxId)?.state.kind !== "ready") return;
      state.logger.warn("the pause process of a sandbox ended", { sandbox: sandboxId });
      await state.sandboxes.change(sandboxId, (record) => ({ ...record, state: { kind: "notReady" } }));
      publishEvent(state, { sandboxId, type: ContainerEventType.CONTAINER_STOPPED_EVENT });
    },
    // Removed, or the daemon stops: either way somebody else knows.
    () => {},
  );
}

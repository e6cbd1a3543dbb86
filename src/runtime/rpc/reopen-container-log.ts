import type { ReopenContainerLogRequest, ReopenContainerLogResponse } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import { findRunning } from "./find-running.ts";

/** Kubelets rename a log that is full and call this. */
export function reopenContainerLog(
  state: Pick<RuntimeState, "containers" | "driver">,
): UnaryRpc<ReopenContainerLogRequest, ReopenContainerLogResponse> {
  return async ({ containerId }) => {
    await state.driver.reopenLog(findRunning(state, containerId).id);
    return {};
  };
}

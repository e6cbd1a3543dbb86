import type { StopContainerRequest, StopContainerResponse } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import { stopContainer } from "../container/stop-container.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import { findOrMissing } from "./find-or-missing.ts";

/** Stopping what is gone, or has ended, succeeds. */
export function stopContainerCall(
  state: RuntimeState,
): UnaryRpc<StopContainerRequest, StopContainerResponse> {
  return async ({ containerId, timeout }) => {
    const container = findOrMissing(state.containers, containerId);
    if (container) await stopContainer(state, container, { timeoutMs: 1_000 * Number(timeout) });
    return {};
  };
}

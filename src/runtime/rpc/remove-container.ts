import type { RemoveContainerRequest, RemoveContainerResponse } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import { removeContainer } from "../container/remove-container.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import { findOrMissing } from "./find-or-missing.ts";

/** A running container is killed; removing what is gone succeeds. */
export function removeContainerCall(
  state: RuntimeState,
): UnaryRpc<RemoveContainerRequest, RemoveContainerResponse> {
  return async ({ containerId }) => {
    const container = findOrMissing(state.containers, containerId);
    if (container) await removeContainer(state, container);
    return {};
  };
}

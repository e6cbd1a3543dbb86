import type { RemovePodSandboxRequest, RemovePodSandboxResponse } from "../../cri/generated/cri.ts";
import { ContainerEventType } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import { removeContainer } from "../container/remove-container.ts";
import { discardSandbox } from "../sandbox/release-sandbox.ts";
import { stopSandbox } from "../sandbox/stop-sandbox.ts";
import { publishEvent } from "../state/publish-event.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import { findOrMissing } from "./find-or-missing.ts";

/** With everything in it, running or not. */
export function removePodSandbox(
  state: RuntimeState,
): UnaryRpc<RemovePodSandboxRequest, RemovePodSandboxResponse> {
  return async ({ podSandboxId }) => {
    const sandbox = findOrMissing(state.sandboxes, podSandboxId);
    if (sandbox) await state.locks.run(sandbox.id, () => remove(state, sandbox.id));
    return {};
  };
}

async function remove(state: RuntimeState, id: string): Promise<void> {
  const { sandboxes, containers } = state;
  if (!sandboxes.get(id)) return;
  await stopSandbox(state, id);
  const members = containers.list().filter(({ sandboxId }) => sandboxId === id);
  await Promise.all(members.map((container) => removeContainer(state, container)));
  await discardSandbox(state, id);
  publishEvent(state, { sandboxId: id, type: ContainerEventType.CONTAINER_DELETED_EVENT });
  await sandboxes.remove(id);
}

import type { StopPodSandboxRequest, StopPodSandboxResponse } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import { stopSandbox } from "../sandbox/stop-sandbox.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import { findOrMissing } from "./find-or-missing.ts";

/** Kubelets call it again and again until it succeeds: every step can be repeated. */
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

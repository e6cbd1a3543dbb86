import type { PodSandboxStatusRequest, PodSandboxStatusResponse } from "../../cri/generated/cri.ts";
import { toNanos } from "../../cri/nanos.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import { containerStatusMessage } from "../message/container-message.ts";
import { sandboxStatusMessage } from "../message/sandbox-message.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import { encodeSandbox } from "../state/sandbox-record.ts";

export function podSandboxStatus({
  sandboxes,
  containers,
  clock,
}: Pick<RuntimeState, "sandboxes" | "containers" | "clock">): UnaryRpc<
  PodSandboxStatusRequest,
  PodSandboxStatusResponse
> {
  return async ({ podSandboxId, verbose }) => {
    const sandbox = sandboxes.find(podSandboxId);
    const members = containers
      .list()
      .filter(({ sandboxId, state }) => sandboxId === sandbox.id && state.kind !== "making");
    return {
      status: sandboxStatusMessage(sandbox),
      info: { ...(verbose && { info: JSON.stringify(encodeSandbox(sandbox)) }) },
      containersStatuses: members.map(containerStatusMessage),
      timestamp: toNanos(clock.now()),
    };
  };
}

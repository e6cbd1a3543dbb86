import type { ContainerStatusRequest, ContainerStatusResponse } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import { containerStatusMessage } from "../message/container-message.ts";
import { type ContainerRecord, encodeContainer } from "../state/container-record.ts";
import type { RuntimeState } from "../state/runtime-state.ts";

type Deps = Pick<RuntimeState, "containers" | "driver">;

export function containerStatus(deps: Deps): UnaryRpc<ContainerStatusRequest, ContainerStatusResponse> {
  return async ({ containerId, verbose }) => {
    const container = deps.containers.find(containerId);
    return {
      status: containerStatusMessage(container),
      info: { ...(verbose && { info: JSON.stringify(await verboseInfo(deps, container)) }) },
    };
  };
}

/** `crictl inspect` takes the pid from here. */
async function verboseInfo({ driver }: Deps, container: ContainerRecord): Promise<unknown> {
  const state = await driver.state(container.id);
  const pid = state.kind === "running" ? state.pid : 0;
  return { sandboxID: container.sandboxId, pid, driver: driver.name, record: encodeContainer(container) };
}

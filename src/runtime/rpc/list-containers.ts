import type {
  ContainerFilter,
  ListContainersRequest,
  ListContainersResponse,
} from "../../cri/generated/cri.ts";
import { matchesLabels } from "../../cri/matches-labels.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import { containerMessage, containerStateValue } from "../message/container-message.ts";
import type { ContainerRecord } from "../state/container-record.ts";
import type { RuntimeState } from "../state/runtime-state.ts";

export function listContainers({
  containers,
}: Pick<RuntimeState, "containers">): UnaryRpc<ListContainersRequest, ListContainersResponse> {
  return async ({ filter }) => ({
    containers: containers
      .list()
      .filter((container) => container.state.kind !== "making")
      .filter((container) => !filter || matches(container, filter))
      .map(containerMessage),
  });
}

function matches(container: ContainerRecord, filter: ContainerFilter): boolean {
  return (
    container.id.startsWith(filter.id) &&
    container.sandboxId.startsWith(filter.podSandboxId) &&
    (!filter.state || filter.state.state === containerStateValue(container)) &&
    matchesLabels(container.config.labels, filter.labelSelector)
  );
}

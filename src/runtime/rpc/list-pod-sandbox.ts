import type {
  ListPodSandboxRequest,
  ListPodSandboxResponse,
  PodSandboxFilter,
} from "../../cri/generated/cri.ts";
import { matchesLabels } from "../../cri/matches-labels.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import { sandboxMessage, sandboxStateValue } from "../message/sandbox-message.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import type { SandboxRecord } from "../state/sandbox-record.ts";

export function listPodSandbox({
  sandboxes,
}: Pick<RuntimeState, "sandboxes">): UnaryRpc<ListPodSandboxRequest, ListPodSandboxResponse> {
  return async ({ filter }) => ({
    items: sandboxes
      .list()
      .filter((sandbox) => sandbox.state.kind !== "making")
      .filter((sandbox) => !filter || matches(sandbox, filter))
      .map(sandboxMessage),
  });
}

function matches(sandbox: SandboxRecord, filter: PodSandboxFilter): boolean {
  return (
    sandbox.id.startsWith(filter.id) &&
    (!filter.state || filter.state.state === sandboxStateValue(sandbox)) &&
    matchesLabels(sandbox.config.labels, filter.labelSelector)
  );
}

import type { ContainerEventType } from "../../cri/generated/cri.ts";
import { toNanos } from "../../cri/nanos.ts";
import { containerStatusMessage } from "../message/container-message.ts";
import { sandboxStatusMessage } from "../message/sandbox-message.ts";
import type { RuntimeState } from "./runtime-state.ts";

type Deps = Pick<RuntimeState, "sandboxes" | "containers" | "events" | "clock">;

/** Tells subscribers what happened, with the state of the whole pod after it. Sandboxes count as containers. */
export function publishEvent(
  { sandboxes, containers, events, clock }: Deps,
  {
    sandboxId,
    containerId = sandboxId,
    type,
  }: { sandboxId: string; containerId?: string; type: ContainerEventType },
): void {
  const sandbox = sandboxes.get(sandboxId);
  const members = containers.list().filter((container) => container.sandboxId === sandboxId);
  events.publish({
    containerId,
    containerEventType: type,
    createdAt: toNanos(clock.now()),
    podSandboxStatus: sandbox && sandboxStatusMessage(sandbox),
    containersStatuses: members
      .filter(({ state }) => state.kind !== "making")
      .map((container) => containerStatusMessage(container)),
  });
}

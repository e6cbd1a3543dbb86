import { failedPrecondition } from "../runtime-error.ts";
import type { ContainerRecord } from "../state/container-record.ts";
import type { RuntimeState } from "../state/runtime-state.ts";

/** The container, which must run: for exec, attach and reopening its log. */
export function findRunning(
  { containers }: Pick<RuntimeState, "containers">,
  containerId: string,
): ContainerRecord {
  const container = containers.find(containerId);
  if (container.state.kind !== "running")
    throw failedPrecondition(`container ${container.id} does not run: it is ${container.state.kind}`);
  return container;
}

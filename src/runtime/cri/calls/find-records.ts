import { failedPrecondition, invalidArgument, RuntimeError } from "../../errors/runtime-error.ts";
import type { ContainerRecord } from "../../state/container-record.ts";
import type { Records, RuntimeState } from "../../state/runtime-state.ts";

/** Finds an object for calls that succeed when it does not exist. An empty or ambiguous ID is still an error. */
export function findOrMissing<T extends { readonly id: string }>(
  records: Pick<Records<T>, "find">,
  id: string,
): T | undefined {
  try {
    return records.find(id);
  } catch (error) {
    if (error instanceof RuntimeError && error.code === "notFound") return undefined;
    throw error;
  }
}

/** Rejects a RuntimeClass handler that is not configured or does not work. */
export function checkHandler(
  { driver, handlers }: Pick<RuntimeState, "driver" | "handlers">,
  runtimeHandler: string,
): void {
  const handler = handlers.find(({ name }) => name === runtimeHandler);
  if (!handler && runtimeHandler !== "" && runtimeHandler !== driver.name)
    throw invalidArgument(`no runtime for "${runtimeHandler}" is configured`);
  if (handler?.kind === "broken")
    throw failedPrecondition(`the runtime for "${runtimeHandler}" does not work: ${handler.problem}`);
}

/** Finds a container that must be running, for exec, attach and reopening its log. */
export function findRunning(
  { containers }: Pick<RuntimeState, "containers">,
  containerId: string,
): ContainerRecord {
  const container = containers.find(containerId);
  if (container.state.kind !== "running")
    throw failedPrecondition(`container ${container.id} is not running: it is ${container.state.kind}`);
  return container;
}

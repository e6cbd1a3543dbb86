import { endLeftoverProcesses } from "../network/end-leftover-processes.ts";
import { unpinNamespaces } from "../network/pin-namespaces.ts";
import { objectDirectory, type RuntimeState } from "../state/runtime-state.ts";
import { namespaceDirectory } from "./make-sandbox.ts";
import { removeSandboxFiles } from "./sandbox-files.ts";

type Deps = Pick<RuntimeState, "dataDir" | "driver" | "network">;

/** Gives back what a stopped sandbox held: pause process, address, namespaces. Its files stay. Idempotent. */
export async function releaseSandbox(deps: Deps, id: string): Promise<void> {
  await deps.driver.remove(id);
  await deps.network.detach(id);
  await unpinNamespaces(namespaceDirectory(objectDirectory(deps, "sandboxes", id)));
}

/** Removes every trace of a sandbox, in whatever state a failure or a killed daemon left it. Idempotent. */
export async function discardSandbox(
  deps: Deps,
  id: string,
  { leftBehind = false }: { leftBehind?: boolean } = {},
): Promise<void> {
  // A killed daemon's helpers may still be making what is about to be removed.
  if (leftBehind) await endLeftoverProcesses(id);
  await releaseSandbox(deps, id);
  await removeSandboxFiles(objectDirectory(deps, "sandboxes", id));
}

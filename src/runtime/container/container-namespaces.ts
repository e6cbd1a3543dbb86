import { type ContainerConfig, NamespaceMode } from "../../cri/generated/cri.ts";
import type { Driver, Namespaces } from "../driver/driver.ts";
import { failedPrecondition, invalidArgument } from "../runtime-error.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import type { SandboxNamespaces, SandboxRecord } from "../state/sandbox-record.ts";

type Deps = Pick<RuntimeState, "driver" | "containers">;

/** The sandbox's namespaces, and the process namespace that the container asks for. */
export async function containerNamespaces(
  deps: Deps,
  sandbox: SandboxRecord & { state: { namespaces: SandboxNamespaces } },
  config: ContainerConfig,
): Promise<Namespaces> {
  const { network, ipc, uts } = sandbox.state.namespaces;
  return { network, ipc, uts, pid: await pidNamespace(deps, sandbox, config) };
}

async function pidNamespace(
  { driver, containers }: Deps,
  sandbox: SandboxRecord & { state: { namespaces: SandboxNamespaces } },
  config: ContainerConfig,
): Promise<Namespaces["pid"]> {
  const options = config.linux?.securityContext?.namespaceOptions;
  switch (options?.pid) {
    case NamespaceMode.NODE:
      return "host";
    case NamespaceMode.TARGET: {
      const target = containers.find(options.targetId);
      if (target.sandboxId !== sandbox.id) throw invalidArgument(`${options.targetId} is in another sandbox`);
      return pidNamespaceOf(driver, target.id);
    }
    case NamespaceMode.POD:
    case undefined:
      // Without a pause process nothing holds a namespace for all: the pod said that it shares none.
      return sandbox.state.namespaces.pid === "pause" ? pidNamespaceOf(driver, sandbox.id) : "new";
    case NamespaceMode.CONTAINER:
      return "new";
  }
}

async function pidNamespaceOf(driver: Driver, containerId: string): Promise<string> {
  const state = await driver.state(containerId);
  if (state.kind !== "running")
    throw failedPrecondition(`${containerId} does not run: no processes to share`);
  return `/proc/${state.pid}/ns/pid`;
}

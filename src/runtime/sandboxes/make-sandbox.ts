import { join } from "node:path";
import { type PodSandboxConfig, Protocol } from "../../cri/generated/cri.ts";
import type { PodNetwork, PodNetworkRequest } from "../networks/network.ts";
import { pinNamespaces, planSysctls, unpinNamespaces } from "../networks/pin-namespaces.ts";
import { endLeftoverProcesses } from "../networks/run-process.ts";
import { objectDirectory, type RuntimeState } from "../state/runtime-state.ts";
import type { SandboxNamespaces, SandboxRecord, SandboxState } from "../state/sandbox-record.ts";
import { decideSandboxContainer, runSandboxContainer } from "./sandbox-container.ts";
import {
  isHostNamespace,
  removeSandboxFiles,
  sandboxHostname,
  sharesProcesses,
  writeSandboxFiles,
} from "./sandbox-files.ts";

type Deps = Pick<RuntimeState, "dataDir" | "driver" | "handlers" | "network">;

/** Creates all parts of a sandbox. After a failure, releaseSandbox removes what was created. */
export async function makeSandbox(
  deps: Deps,
  sandbox: SandboxRecord,
  { signal }: { signal: AbortSignal },
): Promise<SandboxState> {
  const { id, config } = sandbox;
  const directory = objectDirectory(deps, "sandboxes", id);
  const hostNetwork = isHostNamespace(config, "network");
  const hostIpc = isHostNamespace(config, "ipc");
  // A pod on the host's network also has the host's UTS namespace, as in other runtimes.
  const kinds = [...(hostIpc ? [] : ["ipc" as const]), ...(hostNetwork ? [] : ["uts" as const])];
  planSysctls(config.linux?.sysctls ?? {}, [...kinds, ...(hostNetwork ? [] : ["net" as const])]);

  // The parts are independent. All are awaited, so that nothing is still being created when the first has failed.
  const results = await Promise.allSettled([
    writeSandboxFiles(directory, config),
    pinNamespaces({
      podId: id,
      directory: namespaceDirectory(directory),
      kinds,
      hostname: sandboxHostname(config),
    }),
    hostNetwork ? hostNetworkOnly : deps.network.attach(networkRequest(id, config)),
  ]);
  for (const result of results) if (result.status === "rejected") throw result.reason;
  const [, pins, network] = results;
  if (pins.status === "rejected" || network.status === "rejected") throw new Error("unreachable");

  const namespaces = {
    network: network.value.namespacePath,
    ipc: pins.value.ipc ?? "host",
    uts: pins.value.uts ?? "host",
  };
  signal.throwIfAborted();
  const container = decideSandboxContainer(sandbox, deps.handlers);
  if (container !== "none")
    await runSandboxContainer(deps.driver, { sandbox, container, directory, namespaces, signal });
  signal.throwIfAborted();
  const pid = pidNamespace(config);
  return { kind: "ready", container, namespaces: { ...namespaces, pid }, addresses: network.value.addresses };
}

function namespaceDirectory(sandboxDirectory: string): string {
  return join(sandboxDirectory, "namespaces");
}

/** Network of pods on the host's network. Kubelets fill in the node's address. */
const hostNetworkOnly: PodNetwork = { namespacePath: "host", addresses: [] };

function pidNamespace(config: PodSandboxConfig): SandboxNamespaces["pid"] {
  if (isHostNamespace(config, "pid")) return "host";
  return sharesProcesses(config) ? "pause" : "none";
}

const protocols = {
  [Protocol.TCP]: "TCP",
  [Protocol.UDP]: "UDP",
  [Protocol.SCTP]: "SCTP",
} as const;

function networkRequest(podId: string, config: PodSandboxConfig): PodNetworkRequest {
  const { metadata, portMappings, annotations } = config;
  return {
    podId,
    namespace: metadata?.namespace ?? "",
    name: metadata?.name ?? "",
    uid: metadata?.uid ?? "",
    annotations,
    portMappings: portMappings
      .filter(({ hostPort }) => hostPort > 0)
      .map(({ protocol, containerPort, hostPort, hostIp }) => ({
        protocol: protocols[protocol],
        containerPort,
        hostPort,
        hostIp,
      })),
  };
}

type ReleaseDeps = Pick<RuntimeState, "dataDir" | "driver" | "network">;

/** Releases the container, address and namespaces of a stopped sandbox. Its files stay. Idempotent. */
export async function releaseSandbox(deps: ReleaseDeps, id: string): Promise<void> {
  await deps.driver.remove(id);
  await deps.network.detach(id);
  await unpinNamespaces(namespaceDirectory(objectDirectory(deps, "sandboxes", id)));
}

/** Removes a sandbox completely, in whatever state a failure or a killed daemon left it. Idempotent. */
export async function discardSandbox(
  deps: ReleaseDeps,
  id: string,
  { leftBehind = false }: { leftBehind?: boolean } = {},
): Promise<void> {
  // Helper processes of a killed daemon may still be creating what is about to be removed.
  if (leftBehind) await endLeftoverProcesses(id);
  await releaseSandbox(deps, id);
  await removeSandboxFiles(objectDirectory(deps, "sandboxes", id));
}

import { join } from "node:path";
import type { PodSandboxConfig } from "../../cri/generated/cri.ts";
import { Protocol } from "../../cri/generated/cri.ts";
import type { PodNetwork, PodNetworkRequest } from "../network/network.ts";
import { pinNamespaces } from "../network/pin-namespaces.ts";
import { planSysctls } from "../network/plan-sysctls.ts";
import { objectDirectory, type RuntimeState } from "../state/runtime-state.ts";
import type { SandboxNamespaces, SandboxRecord, SandboxState } from "../state/sandbox-record.ts";
import { isHostNamespace, sharesProcesses } from "./namespace-modes.ts";
import { pauseSpec, writePauseRootfs } from "./pause-container.ts";
import { sandboxHostname, writeSandboxFiles } from "./sandbox-files.ts";

type Deps = Pick<RuntimeState, "dataDir" | "driver" | "network">;

/** Makes everything that a sandbox consists of. What a failure leaves, releaseSandbox removes. */
export async function makeSandbox(deps: Deps, sandbox: SandboxRecord): Promise<SandboxState> {
  const { id, config } = sandbox;
  const directory = objectDirectory(deps, "sandboxes", id);
  const hostNetwork = isHostNamespace(config, "network");
  const hostIpc = isHostNamespace(config, "ipc");
  // With the host's network comes its name, as in other runtimes.
  const kinds = [...(hostIpc ? [] : ["ipc" as const]), ...(hostNetwork ? [] : ["uts" as const])];
  planSysctls(config.linux?.sysctls ?? {}, [...kinds, ...(hostNetwork ? [] : ["net" as const])]);

  // They do not need each other. All are waited for, so that nothing is still being made when the first has failed.
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
  const pid = await holdPidNamespace(deps, sandbox, { directory, namespaces });
  return { kind: "ready", namespaces: { ...namespaces, pid }, addresses: network.value.addresses };
}

export function namespaceDirectory(sandboxDirectory: string): string {
  return join(sandboxDirectory, "namespaces");
}

/** Kubelets fill in the node's address themselves. */
const hostNetworkOnly: PodNetwork = { namespacePath: "host", addresses: [] };

async function holdPidNamespace(
  { driver }: Deps,
  sandbox: SandboxRecord,
  { directory, namespaces }: { directory: string; namespaces: Omit<SandboxNamespaces, "pid"> },
): Promise<SandboxNamespaces["pid"]> {
  if (isHostNamespace(sandbox.config, "pid")) return "host";
  if (!sharesProcesses(sandbox.config)) return "none";
  const rootfs = join(directory, "pause");
  await writePauseRootfs(rootfs);
  await driver.create(pauseSpec(sandbox, { rootfs, namespaces }));
  await driver.start(sandbox.id);
  return "pause";
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

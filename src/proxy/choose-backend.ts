import { tryRunProgram } from "../lib/process/run-program.ts";
import type { ProxyBackend } from "./model/backend.ts";
import { createNftablesBackend, type NftablesOptions, nftablesProblem } from "./nftables/nftables-backend.ts";
import { createUserspaceBackend } from "./userspace/userspace-backend.ts";

/** Backend that is requested. `auto` is nftables where it works, and userspace elsewhere. */
export type BackendChoice = "auto" | ProxyBackend["name"];

export interface BackendOptions extends Omit<NftablesOptions, "serviceSubnet"> {
  readonly wanted: BackendChoice;
  /** Addresses of the node. With nftables, pods and the node itself reach node ports at them, and no other machine. */
  readonly nodeAddresses: readonly string[];
  /** Subnet of the pods behind `podInterface`. */
  readonly podSubnet?: string;
  /** File in which the userspace backend records the addresses that it adds. */
  readonly addressRecord: string;
  /** Range of cluster IPs. */
  readonly serviceSubnet: string;
}

/** Returns why no backend can work here. Both change addresses of this machine. */
export async function proxyProblem(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "the service proxy needs root";
  const { exitCode } = await tryRunProgram("ip", ["-Version"]);
  return exitCode === 0 ? undefined : "the service proxy needs the program ip (package iproute2)";
}

/** Opens the backend for this machine. `reason` is a sentence that explains the choice. */
export async function chooseBackend(
  options: BackendOptions,
): Promise<{ readonly backend: ProxyBackend; readonly reason: string }> {
  const { wanted, logger, serviceSubnet, nodePortAddresses, exposedAddresses, podSubnet } = options;
  const problem = wanted === "userspace" ? undefined : await nftablesProblem();
  if (problem && wanted === "nftables")
    throw new Error(`nftables cannot be used: ${problem}; run as root with the package nftables installed`);
  if (wanted === "userspace" || problem) {
    const backend = createUserspaceBackend({
      interface: options.podInterface ?? "lo",
      nodePortAddresses,
      exposedAddresses,
      podSubnets: podSubnet === undefined ? undefined : [podSubnet],
      serviceSubnet,
      addressRecord: options.addressRecord,
      logger,
    });
    const why = problem ? `nftables cannot be used (${problem})` : "it was requested";
    return { backend, reason: `services are relayed by a process (userspace) because ${why}` };
  }
  const backend = await createNftablesBackend({
    ...options,
    nodePortAddresses: [...new Set([...nodePortAddresses, ...options.nodeAddresses])],
  });
  return { backend, reason: "services are packet rules (nftables)" };
}

import { isIPv6 } from "node:net";
import type { PodStatus } from "../../api/objects.ts";
import { previousOf, type StatusFacts } from "./status-facts.ts";

type Addresses = Pick<PodStatus, "podIP" | "podIPs" | "hostIP" | "hostIPs">;

export function podAddresses(facts: StatusFacts): Addresses {
  const hostIps = facts.hostIps.slice(0, 2);
  const podIps = facts.pod.spec?.hostNetwork ? hostNetworkIps(facts, hostIps) : sandboxIps(facts);
  return {
    ...(hostIps.length > 0 && { hostIP: hostIps[0], hostIPs: hostIps.map((ip) => ({ ip })) }),
    ...(podIps.length > 0 && { podIP: podIps[0], podIPs: podIps.map((ip) => ({ ip })) }),
  };
}

/** Those of the sandbox that is ready; a pod whose sandbox is gone keeps the addresses that it had. */
function sandboxIps(facts: StatusFacts): string[] {
  const [sandbox] = facts.observed?.sandboxes ?? [];
  if (!sandbox?.ready || facts.ending?.kind === "terminated") return previousIps(facts);
  return orderIps(sandbox.ips, facts.hostIps[0]);
}

/** One of each family, the node's own first: that is the pod's primary address. */
export function orderIps(ips: readonly string[], hostIp = ""): string[] {
  const primary = isIPv6(hostIp);
  const first = ips.find((ip) => isIPv6(ip) === primary);
  const second = ips.find((ip) => isIPv6(ip) !== primary);
  return [first, second].filter((ip) => ip !== undefined);
}

/** They do not change once they are there, except that a second family is added. */
function hostNetworkIps(facts: StatusFacts, hostIps: readonly string[]): string[] {
  const [first = hostIps[0], second] = previousIps(facts);
  const added = hostIps.find((ip) => first !== undefined && isIPv6(ip) !== isIPv6(first));
  return [first, second ?? added].filter((ip) => ip !== undefined);
}

function previousIps(facts: StatusFacts): string[] {
  return (previousOf(facts).podIPs ?? []).flatMap(({ ip }) => ip ?? []);
}

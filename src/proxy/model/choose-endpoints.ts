import type { EndpointSlice } from "../../api/meta/objects.ts";
import { ipFamilyOf, ipProblems } from "../../api/meta/validate-ip.ts";

export interface ServiceEndpoint {
  readonly address: string;
  readonly port: number;
  /** Whether the endpoint is on this proxy's node. */
  readonly isLocal: boolean;
}

/** Endpoint of a slice with the facts that decide whether it gets traffic. */
export interface CandidateEndpoint extends ServiceEndpoint {
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly forZones: readonly string[];
  readonly forNodes: readonly string[];
}

/** Node of this proxy. */
export interface ProxyNode {
  readonly name: string;
  /** Label `topology.kubernetes.io/zone`. */
  readonly zone?: string;
}

/** Endpoints that a service port uses on this node. */
export interface ChosenEndpoints {
  /** For traffic policy Cluster. */
  readonly cluster: readonly ServiceEndpoint[];
  /** For traffic policy Local. Empty if the service does not use that policy. */
  readonly local: readonly ServiceEndpoint[];
  /** Whether any node has a usable endpoint. Without one, connections are rejected instead of dropped. */
  readonly hasAny: boolean;
}

/** Reads the endpoints of one service port from the slices of its service. Duplicates between slices count once. */
export function candidatesOf(
  slices: readonly EndpointSlice[],
  port: { readonly name: string; readonly protocol: string; readonly addressType: string },
  node: ProxyNode,
): CandidateEndpoint[] {
  const found = new Map<string, CandidateEndpoint>();
  for (const slice of slices) {
    if (slice.addressType !== port.addressType) continue;
    const match = slice.ports?.find(
      ({ name = "", protocol = "TCP" }) => name === port.name && protocol === port.protocol,
    );
    if (!Number.isInteger(match?.port) || !match?.port) continue;
    for (const { addresses, conditions, nodeName, hints } of slice.endpoints ?? []) {
      const [address] = addresses;
      // Backends write addresses into commands: only valid ones of this family may reach them.
      if (address === undefined || ipFamilyOf(address) !== port.addressType || ipProblems(address).length > 0)
        continue;
      const key = `${address} ${match.port}`;
      const ready = conditions?.ready !== false;
      // A pod that moves between slices is in both for a moment, in one of them with its former state.
      if (found.get(key)?.ready && !ready) continue;
      found.set(key, {
        address,
        port: match.port,
        isLocal: nodeName === node.name,
        ready,
        serving: conditions?.serving ?? ready,
        terminating: conditions?.terminating === true,
        forZones: (hints?.forZones ?? []).map(({ name }) => name),
        forNodes: (hints?.forNodes ?? []).map(({ name }) => name),
      });
    }
  }
  return [...found.values()];
}

/**
 * Chooses endpoints as kube-proxy does: ready ones, limited by hints if all have them; terminating ones that still serve
 * if none is ready, separately for each traffic policy.
 */
export function chooseEndpoints(
  candidates: readonly CandidateEndpoint[],
  policies: { readonly usesCluster: boolean; readonly usesLocal: boolean },
  node: ProxyNode,
): ChosenEndpoints {
  const ready = candidates.filter((endpoint) => endpoint.ready);
  const draining = candidates.filter(({ ready, serving, terminating }) => !ready && serving && terminating);
  const local = ready.filter(({ isLocal }) => isLocal);
  const localDraining = draining.filter(({ isLocal }) => isLocal);
  const cluster = ready.length > 0 ? preferHinted(ready, node) : draining;
  return {
    cluster: policies.usesCluster ? cluster.map(toEndpoint) : [],
    local: policies.usesLocal ? (local.length > 0 ? local : localDraining).map(toEndpoint) : [],
    hasAny: ready.length + draining.length > 0,
  };
}

function preferHinted(ready: readonly CandidateEndpoint[], { name, zone }: ProxyNode) {
  if (ready.every(({ forNodes }) => forNodes.length > 0)) {
    const forNode = ready.filter(({ forNodes }) => forNodes.includes(name));
    if (forNode.length > 0) return forNode;
  }
  if (zone !== undefined && ready.every(({ forZones }) => forZones.length > 0)) {
    const forZone = ready.filter(({ forZones }) => forZones.includes(zone));
    if (forZone.length > 0) return forZone;
  }
  return ready;
}

function toEndpoint({ address, port, isLocal }: CandidateEndpoint): ServiceEndpoint {
  return { address, port, isLocal };
}

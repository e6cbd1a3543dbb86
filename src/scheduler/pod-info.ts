import type { Pod } from "../api/objects.ts";
import { podRequests } from "../api/pod-resources.ts";
import { parseQuantity } from "../api/quantity.ts";
import type { Labels } from "../api/selector.ts";
import { type PodAffinityTerms, readAffinityTerms } from "./affinity-term.ts";
import { type HostPort, readHostPorts } from "./host-ports.ts";
import { type Resources, toResources } from "./resources.ts";

/** A pod with what decisions need of it, worked out once. */
export interface PodInfo {
  readonly pod: Pod;
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly namespace: string;
  readonly labels: Labels;
  readonly priority: number;
  readonly isTerminating: boolean;
  readonly requests: Resources;
  /** The same for scores: who asks for nothing still takes something. */
  readonly likely: Pick<Resources, "cpu" | "memory">;
  readonly hostPorts: readonly HostPort[];
  readonly affinity: PodAffinityTerms;
  readonly volumes: readonly PodClaim[];
}

/** A volume that is a claim: one that exists by itself, or one that is made for the pod. */
interface PodClaim {
  readonly claimName: string;
  readonly isEphemeral: boolean;
}

const atLeast = new Map([
  ["cpu", parseQuantity("100m")],
  ["memory", parseQuantity("200Mi")],
]);

export function describePod(pod: Pod): PodInfo {
  const { name = "", namespace = "", uid = "", labels, deletionTimestamp } = pod.metadata;
  const { cpu, memory } = toResources(podRequests(pod, { atLeast }));
  return {
    pod,
    key: `${namespace}/${name}`,
    uid,
    namespace,
    labels,
    priority: pod.spec?.priority ?? 0,
    isTerminating: deletionTimestamp !== undefined,
    requests: toResources(podRequests(pod)),
    likely: { cpu, memory },
    hostPorts: readHostPorts(pod.spec),
    affinity: readAffinityTerms(pod),
    volumes: readClaims(pod),
  };
}

function readClaims({ metadata, spec }: Pod): readonly PodClaim[] {
  const claims: PodClaim[] = [];
  for (const { name, persistentVolumeClaim, ephemeral } of spec?.volumes ?? []) {
    if (persistentVolumeClaim)
      claims.push({ claimName: persistentVolumeClaim.claimName, isEphemeral: false });
    else if (ephemeral) claims.push({ claimName: `${metadata.name}-${name}`, isEphemeral: true });
  }
  return claims;
}

/** Whether a pod on a node now counts differently for others. */
export function countsDifferently(before: PodInfo, after: PodInfo): boolean {
  return (
    before.isTerminating !== after.isTerminating ||
    JSON.stringify(before.labels) !== JSON.stringify(after.labels) ||
    !areEqual(before.requests, after.requests)
  );
}

function areEqual(a: Resources, b: Resources): boolean {
  if (a.cpu !== b.cpu || a.memory !== b.memory || a.ephemeralStorage !== b.ephemeralStorage) return false;
  return a.scalars.size === b.scalars.size && [...a.scalars].every(([name, n]) => b.scalars.get(name) === n);
}

import type { Pod } from "../../api/meta/objects.ts";
import { parseQuantity } from "../../api/meta/quantity.ts";
import type { Labels } from "../../api/meta/selector.ts";
import { type HostPort, readHostPorts } from "../../api/pod/host-ports.ts";
import { podRequests } from "../../api/pod/pod-resources.ts";
import { type PodAffinityTerms, readAffinityTerms } from "./affinity-term.ts";
import { type Resources, toResources } from "./resources.ts";

/** Pod with the derived values that scheduling decisions use, computed once. */
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
  /** Requests for scoring, with upstream's defaults for pods that request nothing. */
  readonly nonZeroRequests: Pick<Resources, "cpu" | "memory">;
  readonly hostPorts: readonly HostPort[];
  readonly affinity: PodAffinityTerms;
  readonly volumes: readonly PodClaim[];
}

/** Volume backed by a claim, either existing or created for the pod (generic ephemeral volume). */
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
    nonZeroRequests: { cpu, memory },
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

/** Reports whether an update of a bound pod changes the totals that other pods depend on. */
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

import type { Pod } from "../../api/meta/objects.ts";
import { milliUnits, parseQuantity, type Quantity, wholeUnits } from "../../api/meta/quantity.ts";
import type { Labels } from "../../api/meta/selector.ts";
import { type HostPort, readHostPorts } from "../../api/pod/host-ports.ts";
import { podRequests } from "../../api/pod/pod-resources.ts";
import { type PodAffinityTerms, readAffinityTerms } from "./affinity-term.ts";

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

/** Resource amounts: milli-CPUs, bytes, counts. */
export interface Resources {
  cpu: number;
  memory: number;
  ephemeralStorage: number;
  /** Extended resources, huge pages and attachable volumes, by name. */
  readonly scalars: Map<string, number>;
}

export function noResources(): Resources {
  return { cpu: 0, memory: 0, ephemeralStorage: 0, scalars: new Map() };
}

function toResources(amounts: Iterable<readonly [string, Quantity]>): Resources {
  const resources = noResources();
  for (const [name, amount] of amounts) {
    if (name === "cpu") resources.cpu = milliUnits(amount);
    else if (name === "memory") resources.memory = wholeUnits(amount);
    else if (name === "ephemeral-storage") resources.ephemeralStorage = wholeUnits(amount);
    else if (isScalar(name)) resources.scalars.set(name, wholeUnits(amount));
  }
  return resources;
}

export interface Allocatable extends Resources {
  pods: number;
}

/** Allocatable resources of a node. Invalid quantities count as zero, so that one node cannot stop the scheduler. */
export function readAllocatable(list: Readonly<Record<string, string>> | undefined): Allocatable {
  const amounts: [string, Quantity][] = [];
  for (const [name, text] of Object.entries(list ?? {})) {
    try {
      amounts.push([name, parseQuantity(text)]);
    } catch {
      // The API server rejects such objects.
    }
  }
  const pods = amounts.find(([name]) => name === "pods")?.[1];
  return { ...toResources(amounts), pods: pods ? wholeUnits(pods) : 0 };
}

/** Adds (sign 1) or subtracts (sign -1) resources. */
export function addResources(total: Resources, part: Resources, sign: 1 | -1): void {
  total.cpu += sign * part.cpu;
  total.memory += sign * part.memory;
  total.ephemeralStorage += sign * part.ephemeralStorage;
  for (const [name, amount] of part.scalars) {
    total.scalars.set(name, (total.scalars.get(name) ?? 0) + sign * amount);
  }
}

function isScalar(name: string): boolean {
  return name.includes("/") || name.startsWith("hugepages-") || name.startsWith("attachable-volumes-");
}

import type { Node } from "../../api/meta/objects.ts";
import { readinessOf } from "./decide-node.ts";

type ZoneState = "normal" | "partial" | "full";

interface Zone {
  readonly state: ZoneState;
  readonly size: number;
}

export type Zones = ReadonlyMap<string, Zone>;

const unhealthyThreshold = 0.55;
const largeZone = 50;
/** Nodes per second that are tainted for eviction. */
const evictionRate = 0.1;
const slowEvictionRate = 0.01;

export function zoneOf({ metadata: { labels = {} } }: Node): string {
  const { "topology.kubernetes.io/region": region = "", "topology.kubernetes.io/zone": zone = "" } = labels;
  return `${region}/${zone}`;
}

export function zonesOf(nodes: Iterable<Node>): Zones {
  const counts = new Map<string, { ready: number; size: number }>();
  for (const node of nodes) {
    if (
      node.metadata.labels &&
      Object.hasOwn(node.metadata.labels, "node.kubernetes.io/exclude-disruption")
    ) {
      continue;
    }
    const zone = zoneOf(node);
    const count = counts.get(zone) ?? { ready: 0, size: 0 };
    counts.set(zone, count);
    count.size++;
    if (readinessOf(node) === "True") count.ready++;
  }
  return new Map([...counts].map(([zone, count]) => [zone, { state: stateOf(count), size: count.size }]));
}

function stateOf({ ready, size }: { readonly ready: number; readonly size: number }): ZoneState {
  const notReady = size - ready;
  if (ready === 0 && notReady > 0) return "full";
  return notReady > 2 && notReady / size >= unhealthyThreshold ? "partial" : "normal";
}

/**
 * Whether no node is ready. Most likely the control plane is cut off then: the pods may be running, and there is no node
 * to move them to.
 */
export function isFullDisruption(zones: Zones): boolean {
  return zones.size > 0 && [...zones.values()].every(({ state }) => state === "full");
}

/** Nodes per second of a zone that may be tainted. Lower if many nodes are not ready, which suggests a network failure. */
export function evictionRateOf(zones: Zones, zone: string): number {
  const { state, size } = zones.get(zone) ?? { state: "normal", size: 1 };
  if (isFullDisruption(zones)) return 0;
  if (state === "partial") return size > largeZone ? slowEvictionRate : 0;
  return evictionRate;
}

interface EvictionLimiter {
  /** Takes a token: returns 0, or the time to wait in milliseconds if none is available. Infinity at a rate of 0. */
  take(zone: string, ratePerSecond: number, now: number): number;
}

/** Limits how many nodes of a zone are tainted per second. */
export function createEvictionLimiter(): EvictionLimiter {
  const lastAt = new Map<string, number>();
  return {
    take(zone, ratePerSecond, now) {
      if (ratePerSecond === 0) return Number.POSITIVE_INFINITY;
      const last = lastAt.get(zone);
      const waitMs = last === undefined ? 0 : last + 1_000 / ratePerSecond - now;
      if (waitMs > 0) return waitMs;
      lastAt.set(zone, now);
      return 0;
    },
  };
}

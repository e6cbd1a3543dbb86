import type { Node } from "../../api/objects.ts";
import { readinessOf } from "./decide-health.ts";

type ZoneState = "normal" | "partial" | "full";

interface Zone {
  readonly state: ZoneState;
  readonly size: number;
}

export type Zones = ReadonlyMap<string, Zone>;

const unhealthyThreshold = 0.55;
const largeZone = 50;
/** Nodes a second whose pods are made to leave. */
const evictionRate = 0.1;
const slowEvictionRate = 0.01;

export function zoneOf({ metadata: { labels = {} } }: Node): string {
  const { "topology.kubernetes.io/region": region = "", "topology.kubernetes.io/zone": zone = "" } = labels;
  return `${region}/${zone}`;
}

export function surveyZones(nodes: Iterable<Node>): Zones {
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
  const lost = size - ready;
  if (ready === 0 && lost > 0) return "full";
  return lost > 2 && lost / size >= unhealthyThreshold ? "partial" : "normal";
}

/**
 * When no node at all is ready, it is most likely this control plane that is cut off: pods elsewhere may be fine, and
 * there is nowhere to move them to.
 */
export function isAllLost(zones: Zones): boolean {
  return zones.size > 0 && [...zones.values()].every(({ state }) => state === "full");
}

/** How many nodes of a zone may lose their pods in a second: fewer the more it looks like the network. */
export function evictionRateOf(zones: Zones, zone: string): number {
  const { state, size } = zones.get(zone) ?? { state: "normal", size: 1 };
  if (isAllLost(zones)) return 0;
  if (state === "partial") return size > largeZone ? slowEvictionRate : 0;
  return evictionRate;
}

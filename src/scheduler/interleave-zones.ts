import { labelOf, type NodeInfo } from "./node-info.ts";

/** Nodes of different zones by turns: a search that ends early has then looked at all zones alike. */
export function interleaveZones(nodes: Iterable<NodeInfo>): NodeInfo[] {
  const zones = new Map<string, NodeInfo[]>();
  for (const node of nodes) {
    const zone = zoneOf(node);
    const members = zones.get(zone);
    if (members) members.push(node);
    else zones.set(zone, [node]);
  }
  if (zones.size === 1) return [...zones.values()].flat();
  const mixed: NodeInfo[] = [];
  let left = [...zones.values()];
  for (let turn = 0; left.length > 0; turn++) {
    left = left.filter((members) => turn < members.length);
    for (const members of left) {
      const node = members[turn];
      if (node) mixed.push(node);
    }
  }
  return mixed;
}

function zoneOf({ labels }: NodeInfo): string {
  const region = labelOf(labels, "topology.kubernetes.io/region") ?? "";
  const zone = labelOf(labels, "topology.kubernetes.io/zone") ?? "";
  return `${region}\0${zone}`;
}

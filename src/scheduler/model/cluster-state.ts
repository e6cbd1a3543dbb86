import type { Node } from "../../api/meta/objects.ts";
import type { ApiObjects, Snapshot } from "./informers.ts";
import { addPodToNode, createNodeInfo, labelOf, type NodeInfo, removePodFromNode } from "./node-info.ts";
import { createPodCounts, createTermGroups, type PlacedPod } from "./pod-counts.ts";
import type { PodInfo } from "./pod-info.ts";

interface Placement extends PlacedPod {
  /** Set by this scheduler and not yet confirmed by the API. */
  readonly isAssumed: boolean;
}

/**
 * Nodes and their pods, with incrementally maintained totals. Decisions read the live state, so no snapshot has to be
 * copied per decision.
 */
export interface ClusterState extends Snapshot {
  putNode(node: Node): void;
  removeNode(name: string): void;
  /** Records a placement that the API confirmed. Replaces an assumed one. */
  placePod(pod: PodInfo, nodeName: string): void;
  removePod(uid: string): void;
  /** Counts a pod on its node before the API confirms the binding. */
  assumePod(pod: PodInfo, nodeName: string): void;
  /** Reverts `assumePod`. Returns false when the pod is not assumed. */
  forgetPod(uid: string): boolean;
  placed(uid: string): Placement | undefined;
}

export function createClusterState(objects: ApiObjects): ClusterState {
  const infos = new Map<string, NodeInfo>();
  const placements = new Map<string, Placement>();
  /** Includes nodes that the API has not reported yet. */
  const byNode = new Map<string, Set<Placement>>();
  const byNamespace = new Map<string, Set<Placement>>();
  const claimUsers = new Map<string, number>();
  const imageNodes = new Map<string, number>();
  const counts = createPodCounts((namespace) => byNamespace.get(namespace) ?? []);
  const terms = createTermGroups();
  let ordered: NodeInfo[] | undefined;

  function tally(placement: Placement, sign: 1 | -1): void {
    const { info, nodeName } = placement;
    const node = infos.get(nodeName);
    if (node) (sign === 1 ? addPodToNode : removePodFromNode)(node, info);
    counts.add(info, nodeName, sign);
    terms.add(info, nodeName, sign);
    for (const { claimName } of info.volumes) step(claimUsers, `${info.namespace}/${claimName}`, sign);
  }

  function add(placement: Placement): void {
    placements.set(placement.info.uid, placement);
    addTo(byNode, placement.nodeName, placement);
    addTo(byNamespace, placement.info.namespace, placement);
    tally(placement, 1);
  }

  function remove(uid: string): void {
    const placement = placements.get(uid);
    if (!placement) return;
    placements.delete(uid);
    removeFrom(byNode, placement.nodeName, placement);
    removeFrom(byNamespace, placement.info.namespace, placement);
    tally(placement, -1);
  }

  function removeNode(name: string): void {
    const known = infos.get(name);
    if (!known) return;
    infos.delete(name);
    ordered = undefined;
    for (const image of known.images.keys()) step(imageNodes, image, -1);
  }

  return {
    objects,
    terms: terms.groups,
    get nodes() {
      ordered ??= interleaveZones(infos.values());
      return ordered;
    },
    node: (name) => infos.get(name),
    count: counts.count,
    imageSpread: (image) => imageNodes.get(image) ?? 0,
    isClaimInUse: (key) => claimUsers.has(key),
    putNode(node) {
      const name = node.metadata.name ?? "";
      const pods = [...(byNode.get(name) ?? [])].map(({ info }) => info);
      const info = createNodeInfo(node, pods);
      for (const image of infos.get(name)?.images.keys() ?? []) step(imageNodes, image, -1);
      for (const image of info.images.keys()) step(imageNodes, image, 1);
      infos.set(name, info);
      ordered = undefined;
    },
    removeNode,
    placePod(info, nodeName) {
      remove(info.uid);
      add({ info, nodeName, isAssumed: false });
    },
    removePod: remove,
    assumePod(info, nodeName) {
      remove(info.uid);
      add({ info, nodeName, isAssumed: true });
    },
    forgetPod(uid) {
      if (!placements.get(uid)?.isAssumed) return false;
      remove(uid);
      return true;
    },
    placed: (uid) => placements.get(uid),
  };
}

function step(counts: Map<string, number>, key: string, sign: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + sign;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}

function addTo<T>(groups: Map<string, Set<T>>, key: string, item: T): void {
  const group = groups.get(key);
  if (group) group.add(item);
  else groups.set(key, new Set([item]));
}

function removeFrom<T>(groups: Map<string, Set<T>>, key: string, item: T): void {
  const group = groups.get(key);
  group?.delete(item);
  if (group?.size === 0) groups.delete(key);
}

/** Orders nodes round-robin over zones, so that a search that stops early covers all zones evenly. */
function interleaveZones(nodes: Iterable<NodeInfo>): NodeInfo[] {
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

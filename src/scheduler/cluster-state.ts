import type { Node } from "../api/objects.ts";
import { interleaveZones } from "./interleave-zones.ts";
import { addPodToNode, createNodeInfo, type NodeInfo, removePodFromNode } from "./node-info.ts";
import { createPodCounts, type PlacedPod } from "./pod-counts.ts";
import type { PodInfo } from "./pod-info.ts";
import type { ApiObjects, Snapshot } from "./snapshot.ts";
import { createTermGroups } from "./term-groups.ts";

interface Placement extends PlacedPod {
  /** Decided here; the API does not show it yet. */
  readonly isAssumed: boolean;
}

/**
 * Nodes and the pods on them, with every total that decisions need kept up as they change: a decision reads it as it is,
 * and nothing is copied for one.
 */
export interface ClusterState extends Snapshot {
  putNode(node: Node): void;
  removeNode(name: string): void;
  /** What the API says: it ends what was assumed of the pod. */
  placePod(pod: PodInfo, nodeName: string): void;
  removePod(uid: string): void;
  /** Counts a pod on its node before the API does. */
  assumePod(pod: PodInfo, nodeName: string): void;
  /** Takes back what was assumed; false when there was nothing to take back. */
  forgetPod(uid: string): boolean;
  placed(uid: string): Placement | undefined;
}

export function createClusterState(objects: ApiObjects): ClusterState {
  const infos = new Map<string, NodeInfo>();
  const placements = new Map<string, Placement>();
  /** Also of nodes that are not known (yet). */
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

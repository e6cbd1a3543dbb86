import type { DaemonSet, Node, Pod } from "../../api/meta/objects.ts";
import { hasEnded, isTerminating } from "../../api/pod/pod-state.ts";
import { scaledValue } from "../../lib/scaled-value.ts";
import { type Placement, placementOf, targetNodeOf } from "./daemon-pod.ts";

/** What one sync of a DaemonSet observes. */
export interface DaemonSetFacts {
  readonly set: DaemonSet;
  /** Hash of the current template. */
  readonly hash: string;
  readonly nodes: readonly NodeFacts[];
  /** Pods for nodes that do not exist. */
  readonly podsWithoutNode: readonly Pod[];
  readonly now: number;
}

/** A node with the pods that the set has on it, oldest first. */
export interface NodeFacts {
  readonly name: string;
  readonly placement: Placement;
  readonly pods: readonly Pod[];
}

export function observeDaemonSet(observed: {
  readonly set: DaemonSet;
  readonly hash: string;
  readonly nodes: Iterable<Node>;
  readonly pods: readonly Pod[];
  readonly now: number;
}): DaemonSetFacts {
  const { set, hash, now } = observed;
  const podsByNode = new Map<string, Pod[]>();
  for (const pod of observed.pods) {
    const name = targetNodeOf(pod);
    // The garbage collector of pods or the kubelet removes a pod that has ended and is deleted.
    if (name === undefined || (hasEnded(pod) && isTerminating(pod))) continue;
    const known = podsByNode.get(name);
    if (known) known.push(pod);
    else podsByNode.set(name, [pod]);
  }
  const place = placementOf(set);
  const nodes = Array.from(observed.nodes, (node) => {
    const { name = "" } = node.metadata;
    const pods = (podsByNode.get(name) ?? []).sort(byAge);
    podsByNode.delete(name);
    return { name, placement: place(node), pods };
  });
  return { set, hash, nodes, podsWithoutNode: [...podsByNode.values()].flat(), now };
}

/** Scheduled pods first, then the oldest, then by name. */
function byAge(a: Pod, b: Pod): number {
  const [aBound, bBound] = [Boolean(a.spec?.nodeName), Boolean(b.spec?.nodeName)];
  if (aBound !== bBound) return aBound ? -1 : 1;
  const age = ({ metadata }: Pod) => Date.parse(metadata.creationTimestamp ?? "") || 0;
  return age(a) - age(b) || ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1);
}

/** Limits of a rolling update, resolved against the number of nodes that should run a pod. */
export function updateLimits(
  { spec }: DaemonSet,
  desired: number,
): { readonly maxSurge: number; readonly maxUnavailable: number } {
  const { type, rollingUpdate } = spec?.updateStrategy ?? {};
  if (type !== "RollingUpdate" || !rollingUpdate) return { maxSurge: 0, maxUnavailable: 0 };
  const maxSurge = scaledValue(rollingUpdate.maxSurge, desired, "up");
  const maxUnavailable = scaledValue(rollingUpdate.maxUnavailable, desired, "up");
  // Validation rejects two zeros; the update must progress nevertheless.
  const isStuck = desired > 0 && maxSurge === 0 && maxUnavailable === 0;
  return { maxSurge, maxUnavailable: isStuck ? 1 : maxUnavailable };
}

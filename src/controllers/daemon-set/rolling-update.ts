import type { Pod } from "../../api/meta/objects.ts";
import { isAvailable, isTerminating } from "../../api/pod/pod-state.ts";
import { isUpdated } from "./daemon-pod.ts";
import { type DaemonSetFacts, type NodeFacts, updateLimits } from "./daemon-set-facts.ts";

interface UpdatePlan {
  /** Names of nodes on which a pod is created beside the old one. */
  readonly createOn: readonly string[];
  readonly delete: readonly Pod[];
}

/** A node with at most one live pod of the current template and one of an earlier template. */
interface NodeProgress {
  readonly node: NodeFacts;
  readonly current?: Pod;
  readonly old?: Pod;
}

/** Decides which old pods a rolling update replaces next. The set has all pods that it should have. */
export function decideRollingUpdate(facts: DaemonSetFacts): UpdatePlan {
  const { set, nodes } = facts;
  if (set.spec?.updateStrategy?.type !== "RollingUpdate") return { createOn: [], delete: [] };
  const desired = nodes.filter(({ placement }) => placement === "run").length;
  const { maxSurge, maxUnavailable } = updateLimits(set, desired);
  const involved = nodes.filter(({ placement, pods }) => placement === "run" || pods.length > 0);
  const progress = involved.map((node) => progressOf(facts, node));
  const isUp = (pod: Pod) => isAvailable(pod, set.spec?.minReadySeconds ?? 0, facts.now);
  return maxSurge === 0
    ? replaceInPlace(progress, { maxUnavailable, isUp })
    : replaceBySurge(progress, { maxSurge, desired, isUp });
}

/** Undefined if the node has several pods of one kind; the next sync removes the excess. */
function progressOf({ set, hash }: DaemonSetFacts, node: NodeFacts): NodeProgress | undefined {
  const live = node.pods.filter((pod) => !isTerminating(pod));
  const [current, ...currentExcess] = live.filter((pod) => isUpdated(pod, set, hash));
  const [old, ...oldExcess] = live.filter((pod) => !isUpdated(pod, set, hash));
  if (currentExcess.length > 0 || oldExcess.length > 0) return undefined;
  return { node, ...(current && { current }), ...(old && { old }) };
}

/** Deletes unavailable old pods, and available ones up to maxUnavailable. A later sync creates the new pods. */
function replaceInPlace(
  progress: readonly (NodeProgress | undefined)[],
  { maxUnavailable, isUp }: { readonly maxUnavailable: number; isUp(pod: Pod): boolean },
): UpdatePlan {
  const unavailableOld: Pod[] = [];
  const candidates: Pod[] = [];
  let unavailable = 0;
  for (const state of progress) {
    const { current, old } = state ?? {};
    if (old && !current) {
      if (isUp(old)) {
        candidates.push(old);
        continue;
      }
      unavailableOld.push(old);
      unavailable++;
    } else if (!current || old || !isUp(current)) unavailable++;
  }
  const allowed = Math.max(0, maxUnavailable - unavailable);
  return { createOn: [], delete: [...unavailableOld, ...candidates.slice(0, allowed)] };
}

/** Creates new pods beside available old ones up to maxSurge, and deletes an old pod when the new one is available. */
function replaceBySurge(
  progress: readonly (NodeProgress | undefined)[],
  options: { readonly maxSurge: number; readonly desired: number; isUp(pod: Pod): boolean },
): UpdatePlan {
  const { maxSurge, desired, isUp } = options;
  const plan = { createOn: [] as string[], delete: [] as Pod[] };
  const candidates: string[] = [];
  const misplaced: Pod[] = [];
  let surging = 0;
  let available = 0;
  for (const state of progress) {
    if (!state) {
      surging++;
      continue;
    }
    const { node, current, old } = state;
    const counted = old ?? current;
    if (counted && isUp(counted)) available++;
    if (!old) continue;
    if (current) {
      if (isUp(current)) plan.delete.push(old);
      else surging++;
    } else if (node.placement !== "run") {
      if (isUp(old)) misplaced.push(old);
      else plan.delete.push(old);
    } else if (isUp(old)) candidates.push(node.name);
    else plan.createOn.push(node.name);
  }
  // Pods on nodes that the set has left are deleted only when enough others are available.
  plan.delete.push(...misplaced.slice(0, Math.max(0, available - desired)));
  plan.createOn.push(...candidates.slice(0, Math.max(0, maxSurge - surging)));
  return plan;
}

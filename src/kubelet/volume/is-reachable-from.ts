import { matcherOfSelector } from "../../api/node-matcher.ts";
import type { PersistentVolume } from "../../api/objects.ts";
import type { NodeFacts } from "./volume-request.ts";

/** Whether a persistent volume can be reached from a node: one of its terms matches, or it has none to match. */
export function isReachableFrom(volume: PersistentVolume, node: Pick<NodeFacts, "name" | "labels">): boolean {
  const required = volume.spec?.nodeAffinity?.required;
  return !required || matcherOfSelector(required)(node);
}

import type { ObjectMeta, OwnerReference } from "../../api/objects.ts";
import type { DeleteOptions } from "../../client/client.ts";
import {
  foregroundFinalizer,
  type GraphNode,
  isSolid,
  type OwnerGraph,
  orphanFinalizer,
} from "./owner-graph.ts";

/** What an object needs, as far as the graph can tell. */
export type Look =
  | { readonly kind: "nothing" }
  /** It goes, and its dependents stay behind without it. */
  | { readonly kind: "orphan"; readonly dependents: readonly GraphNode[] }
  /** It has waited for its dependents to the end. */
  | { readonly kind: "release" }
  /** Some owner may be gone: only the API knows. */
  | { readonly kind: "askForOwners" };

export function lookAt(node: GraphNode, graph: Pick<OwnerGraph, "get" | "dependentsOf">): Look {
  switch (node.deletion) {
    case "plain":
      return { kind: "nothing" };
    case "orphan":
      return { kind: "orphan", dependents: graph.dependentsOf(node.uid) };
    case "foreground": {
      // Those that hold it up have been woken by its deletion, and wake it when they go.
      const isHeld = graph.dependentsOf(node.uid).some((dependent) => blocks(dependent, node.uid));
      return isHeld ? { kind: "nothing" } : { kind: "release" };
    }
    case "none":
      return isSolid(node, graph) ? { kind: "nothing" } : { kind: "askForOwners" };
  }
}

function blocks({ owners }: GraphNode, owner: string): boolean {
  return owners.some(({ uid, blockOwnerDeletion }) => uid === owner && blockOwnerDeletion === true);
}

/** What the API says of an owner: it is there, it is not, or it goes after its dependents. */
export type OwnerState = "solid" | "dangling" | "waiting";

interface CollectionFacts {
  readonly metadata: ObjectMeta;
  /** One for each owner reference. */
  readonly owners: readonly { readonly reference: OwnerReference; readonly state: OwnerState }[];
  readonly dependents: readonly Pick<GraphNode, "deletion">[];
}

export type Collection =
  | { readonly kind: "keep" }
  /** Some owner keeps it; these do not any more. */
  | { readonly kind: "dropReferences"; readonly uids: readonly string[] }
  | {
      readonly kind: "delete";
      readonly propagationPolicy: NonNullable<DeleteOptions["propagationPolicy"]>;
      /** Its owners must not wait for it: it may be that it waits for them. */
      readonly unblockOwners: boolean;
    };

/** What becomes of an object, given the true state of its owners. */
export function decideCollection({ metadata, owners, dependents }: CollectionFacts): Collection {
  const inState = (wanted: OwnerState) => owners.filter(({ state }) => state === wanted);
  const waiting = inState("waiting");
  if (owners.length === 0) return { kind: "keep" };
  if (inState("solid").length > 0) {
    const lost = [...inState("dangling"), ...waiting].map(({ reference }) => reference.uid);
    return lost.length === 0 ? { kind: "keep" } : { kind: "dropReferences", uids: lost };
  }
  if (waiting.length > 0 && dependents.length > 0) {
    const unblockOwners = dependents.some(({ deletion }) => deletion === "foreground");
    return { kind: "delete", propagationPolicy: "Foreground", unblockOwners };
  }
  const { finalizers = [] } = metadata;
  const propagationPolicy = finalizers.includes(orphanFinalizer)
    ? "Orphan"
    : finalizers.includes(foregroundFinalizer)
      ? "Foreground"
      : "Background";
  return { kind: "delete", propagationPolicy, unblockOwners: false };
}

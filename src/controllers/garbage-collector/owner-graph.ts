import { isEqual } from "../../api/meta/is-equal.ts";
import type { KubeObject, ObjectMeta, OwnerReference } from "../../api/meta/objects.ts";
import type { DeleteOptions } from "../../client/api/client.ts";
import type { ResourceAddress } from "../../client/api/resource-path.ts";

export const orphanFinalizer = "orphan";
export const foregroundFinalizer = "foregroundDeletion";

/** How an object is being deleted, and what has to happen to its dependents first. */
export type Deletion = "none" | "plain" | "orphan" | "foreground";

/** Fields of an object that ownership depends on. */
export interface GraphNode {
  readonly resource: ResourceAddress;
  readonly apiVersion: string;
  readonly kind: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly owners: readonly OwnerReference[];
  readonly deletion: Deletion;
}

/** Ownership graph of the observed objects. Owners that are only referred to are not part of it. */
interface OwnerGraph {
  get(uid: string): GraphNode | undefined;
  dependentsOf(uid: string): readonly GraphNode[];
  /** Adds or updates an object. Returns the uids to reconcile because of it. */
  observe(resource: ResourceAddress, object: KubeObject): ReadonlySet<string>;
  /** Removes a deleted object. Returns the uids to reconcile because of it. */
  remove(object: KubeObject): ReadonlySet<string>;
}

export function createOwnerGraph(): OwnerGraph {
  const nodes = new Map<string, GraphNode>();
  /** Uids of the dependents by uid of their owner, which may not be observed. */
  const dependents = new Map<string, Set<string>>();

  function link(owner: string, dependent: string): void {
    const known = dependents.get(owner);
    if (known) known.add(dependent);
    else dependents.set(owner, new Set([dependent]));
  }

  function unlink(owner: string, dependent: string): void {
    const known = dependents.get(owner);
    known?.delete(dependent);
    if (known?.size === 0) dependents.delete(owner);
  }

  function dependentsOf(uid: string): GraphNode[] {
    return [...(dependents.get(uid) ?? [])].flatMap((dependent) => nodes.get(dependent) ?? []);
  }

  return {
    get: (uid) => nodes.get(uid),
    dependentsOf,
    observe(resource, object) {
      const node = toNode(resource, object);
      const previous = nodes.get(node.uid);
      const affected = new Set<string>();
      // Most changes are status updates, which do not affect ownership.
      if (previous?.deletion === node.deletion && isEqual(previous.owners, node.owners)) return affected;
      nodes.set(node.uid, node);

      const before = new Map(previous?.owners.map((reference) => [reference.uid, reference]));
      const after = new Map(node.owners.map((reference) => [reference.uid, reference]));
      for (const [uid, reference] of before) {
        const now = after.get(uid);
        if (!now) unlink(uid, node.uid);
        // An owner that waits for this object may proceed.
        if (reference.blockOwnerDeletion && !now?.blockOwnerDeletion) affected.add(uid);
      }
      for (const uid of after.keys()) {
        if (before.has(uid)) continue;
        link(uid, node.uid);
        if (!isSolid(node, nodes)) affected.add(node.uid);
      }

      if (!previous) {
        // Dependents that refer to this object by another name are invalid.
        for (const dependent of dependentsOf(node.uid)) {
          if (!refersTo(dependent, node)) affected.add(dependent.uid);
        }
      }
      if (node.deletion !== previous?.deletion) {
        if (node.deletion === "orphan" || node.deletion === "foreground") affected.add(node.uid);
        if (node.deletion === "foreground") for (const { uid } of dependentsOf(node.uid)) affected.add(uid);
      }
      return affected;
    },
    remove({ metadata: { uid = "" } }) {
      const affected = new Set<string>();
      const node = nodes.get(uid);
      if (!node) return affected;
      nodes.delete(uid);
      for (const owner of node.owners) {
        unlink(owner.uid, uid);
        if (nodes.get(owner.uid)?.deletion === "foreground") affected.add(owner.uid);
      }
      for (const dependent of dependentsOf(uid)) affected.add(dependent.uid);
      return affected;
    },
  };
}

/** Whether every owner exists, matches its reference and is not in foreground deletion. */
function isSolid(node: GraphNode, nodes: { get(uid: string): GraphNode | undefined }): boolean {
  return node.owners.every(({ uid }) => {
    const owner = nodes.get(uid);
    return owner !== undefined && owner.deletion !== "foreground" && refersTo(node, owner);
  });
}

/** Whether the dependent's references match apiVersion, kind, name and namespace of the owner. */
function refersTo(dependent: GraphNode, owner: GraphNode): boolean {
  if (owner.namespace !== "" && owner.namespace !== dependent.namespace) return false;
  return dependent.owners
    .filter(({ uid }) => uid === owner.uid)
    .every(
      ({ apiVersion, kind, name }) =>
        apiVersion === owner.apiVersion && kind === owner.kind && name === owner.name,
    );
}

function toNode(resource: ResourceAddress, { apiVersion, kind, metadata }: KubeObject): GraphNode {
  const { namespace = "", name = "", uid = "", ownerReferences: owners = [] } = metadata;
  return { resource, apiVersion, kind, namespace, name, uid, owners, deletion: deletionOf(metadata) };
}

export function deletionOf({ deletionTimestamp, finalizers = [] }: ObjectMeta): Deletion {
  if (deletionTimestamp === undefined) return "none";
  if (finalizers.includes(orphanFinalizer)) return "orphan";
  return finalizers.includes(foregroundFinalizer) ? "foreground" : "plain";
}

/** Next step for an object according to the graph. */
export type GraphStep =
  | { readonly kind: "nothing" }
  /** The object is being deleted and its dependents are to be orphaned. */
  | { readonly kind: "orphan"; readonly dependents: readonly GraphNode[] }
  /** The object has waited for its dependents, and all are gone. */
  | { readonly kind: "release" }
  /** An owner may be gone, which only the API can confirm. */
  | { readonly kind: "checkOwners" };

export function nextGraphStep(node: GraphNode, graph: Pick<OwnerGraph, "get" | "dependentsOf">): GraphStep {
  switch (node.deletion) {
    case "plain":
      return { kind: "nothing" };
    case "orphan":
      return { kind: "orphan", dependents: graph.dependentsOf(node.uid) };
    case "foreground": {
      // Its deletion queued the blocking dependents; their removal queues it.
      const isBlocked = graph.dependentsOf(node.uid).some((dependent) => blocks(dependent, node.uid));
      return isBlocked ? { kind: "nothing" } : { kind: "release" };
    }
    case "none":
      return isSolid(node, graph) ? { kind: "nothing" } : { kind: "checkOwners" };
  }
}

function blocks({ owners }: GraphNode, owner: string): boolean {
  return owners.some(({ uid, blockOwnerDeletion }) => uid === owner && blockOwnerDeletion === true);
}

/** State of an owner in the API: it exists, it is gone, or it waits for its dependents (foreground deletion). */
export type OwnerState = "solid" | "dangling" | "waiting";

interface CollectionFacts {
  readonly metadata: ObjectMeta;
  /** One entry per owner reference. */
  readonly owners: readonly { readonly reference: OwnerReference; readonly state: OwnerState }[];
  readonly dependents: readonly Pick<GraphNode, "deletion">[];
}

export type Collection =
  | { readonly kind: "keep" }
  /** Another owner exists; these references are removed. */
  | { readonly kind: "dropReferences"; readonly uids: readonly string[] }
  | {
      readonly kind: "delete";
      readonly propagationPolicy: NonNullable<DeleteOptions["propagationPolicy"]>;
      /** Whether to set blockOwnerDeletion to false first, because the object may wait for its owners. */
      readonly unblockOwners: boolean;
    };

/** Decides what to do with an object whose owners have these states. */
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

import { isEqual } from "../../api/is-equal.ts";
import type { KubeObject, ObjectMeta, OwnerReference } from "../../api/objects.ts";
import type { ResourceName } from "../../client/client.ts";

export const orphanFinalizer = "orphan";
export const foregroundFinalizer = "foregroundDeletion";

/** How an object goes, if it does: what must happen to its dependents first. */
export type Deletion = "none" | "plain" | "orphan" | "foreground";

/** An object as far as ownership goes. */
export interface GraphNode {
  readonly resource: ResourceName;
  readonly apiVersion: string;
  readonly kind: string;
  /** Empty for what has none. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly owners: readonly OwnerReference[];
  readonly deletion: Deletion;
}

/** Who owns whom, as the informers have it. Owners that are only referred to are not in it. */
export interface OwnerGraph {
  get(uid: string): GraphNode | undefined;
  dependentsOf(uid: string): readonly GraphNode[];
  /** Takes in an object as it is now; answers with the uids of those that want a look because of it. */
  observe(resource: ResourceName, object: KubeObject): ReadonlySet<string>;
  /** The same for an object that is gone. */
  forget(object: KubeObject): ReadonlySet<string>;
}

export function createOwnerGraph(): OwnerGraph {
  const nodes = new Map<string, GraphNode>();
  /** Of each owner, seen or not, the uids of its dependents. */
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
      const wake = new Set<string>();
      // Most changes are of a status, and nobody's business here.
      if (previous?.deletion === node.deletion && isEqual(previous.owners, node.owners)) return wake;
      nodes.set(node.uid, node);

      const before = new Map(previous?.owners.map((reference) => [reference.uid, reference]));
      const after = new Map(node.owners.map((reference) => [reference.uid, reference]));
      for (const [uid, reference] of before) {
        const now = after.get(uid);
        if (!now) unlink(uid, node.uid);
        // An owner that waits for this one may go on.
        if (reference.blockOwnerDeletion && !now?.blockOwnerDeletion) wake.add(uid);
      }
      for (const uid of after.keys()) {
        if (before.has(uid)) continue;
        link(uid, node.uid);
        if (!isSolid(node, nodes)) wake.add(node.uid);
      }

      if (!previous) {
        // Whoever calls it by another name may be wrong about it.
        for (const dependent of dependentsOf(node.uid)) {
          if (!refersTo(dependent, node)) wake.add(dependent.uid);
        }
      }
      if (node.deletion !== previous?.deletion) {
        if (node.deletion === "orphan" || node.deletion === "foreground") wake.add(node.uid);
        if (node.deletion === "foreground") for (const { uid } of dependentsOf(node.uid)) wake.add(uid);
      }
      return wake;
    },
    forget({ metadata: { uid = "" } }) {
      const wake = new Set<string>();
      const node = nodes.get(uid);
      if (!node) return wake;
      nodes.delete(uid);
      for (const owner of node.owners) {
        unlink(owner.uid, uid);
        if (nodes.get(owner.uid)?.deletion === "foreground") wake.add(owner.uid);
      }
      for (const dependent of dependentsOf(uid)) wake.add(dependent.uid);
      return wake;
    },
  };
}

/** Whether every owner is there, under the name that it is called by, and wants to keep its dependents. */
export function isSolid(node: GraphNode, nodes: { get(uid: string): GraphNode | undefined }): boolean {
  return node.owners.every(({ uid }) => {
    const owner = nodes.get(uid);
    return owner !== undefined && owner.deletion !== "foreground" && refersTo(node, owner);
  });
}

/** Whether what a dependent says of its owner fits it, beside the uid. */
function refersTo(dependent: GraphNode, owner: GraphNode): boolean {
  if (owner.namespace !== "" && owner.namespace !== dependent.namespace) return false;
  return dependent.owners
    .filter(({ uid }) => uid === owner.uid)
    .every(
      ({ apiVersion, kind, name }) =>
        apiVersion === owner.apiVersion && kind === owner.kind && name === owner.name,
    );
}

function toNode(resource: ResourceName, { apiVersion, kind, metadata }: KubeObject): GraphNode {
  const { namespace = "", name = "", uid = "", ownerReferences: owners = [] } = metadata;
  return { resource, apiVersion, kind, namespace, name, uid, owners, deletion: deletionOf(metadata) };
}

export function deletionOf({ deletionTimestamp, finalizers = [] }: ObjectMeta): Deletion {
  if (deletionTimestamp === undefined) return "none";
  if (finalizers.includes(orphanFinalizer)) return "orphan";
  return finalizers.includes(foregroundFinalizer) ? "foreground" : "plain";
}

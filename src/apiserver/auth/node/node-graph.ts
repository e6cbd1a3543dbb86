import type { Pod } from "../../../api/meta/objects.ts";
import { isMirrorPod } from "../../../api/pod/pod-state.ts";
import { type PersistentVolume, podReferences, volumeSecrets } from "./pod-references.ts";

/**
 * Objects that the pods of each node reference, updated by events:
 *
 *     node <- pod <- secret, config map, service account
 *                 <- claim <- volume <- secret
 */
export interface NodeGraph {
  setPod(pod: Pod): void;
  deletePod(namespace: string, name: string): void;
  setVolume(volume: PersistentVolume): void;
  deleteVolume(name: string): void;
  /** Whether a pod on this node needs the object. */
  needs(nodeName: string, object: ObjectReference): boolean;
}

interface ObjectReference {
  /** Plural. No node needs objects of kinds that are not in the graph. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

interface KnownPod {
  readonly nodeName: string;
  readonly uid: string | undefined;
  readonly ephemeralContainers: number;
  readonly needs: readonly string[];
}

export function createNodeGraph(): NodeGraph {
  const pods = new Map<string, KnownPod>();
  /** Number of pods that reference each object, by node. */
  const needed = new Map<string, Map<string, number>>();
  const volumes = new Map<string, { readonly claim: string; readonly secrets: readonly string[] }>();
  const volumesOfSecret = new Map<string, Set<string>>();

  return {
    setPod(pod) {
      const nodeName = pod.spec?.nodeName;
      if (!nodeName) return;
      const { name = "", namespace = "", uid } = pod.metadata;
      const key = keyOf("pods", namespace, name);
      const known = pods.get(key);
      const ephemeralContainers = pod.spec?.ephemeralContainers?.length ?? 0;
      // The other references of a pod are immutable once it is bound to a node.
      if (
        known?.uid === uid &&
        known?.nodeName === nodeName &&
        known.ephemeralContainers === ephemeralContainers
      ) {
        return;
      }
      forgetPod(key);
      const needs = [key, ...needsOf(pod)];
      pods.set(key, { nodeName, uid, ephemeralContainers, needs });
      const counts = needed.get(nodeName) ?? new Map<string, number>();
      needed.set(nodeName, counts);
      for (const object of needs) counts.set(object, (counts.get(object) ?? 0) + 1);
    },
    deletePod: (namespace, name) => forgetPod(keyOf("pods", namespace, name)),
    setVolume(volume) {
      const { name = "" } = volume.metadata;
      forgetVolume(name);
      const claim = volume.spec?.claimRef;
      if (!claim) return;
      const secrets = volumeSecrets(volume).map((secret) => keyOf("secrets", secret.namespace, secret.name));
      volumes.set(name, {
        claim: keyOf("persistentvolumeclaims", claim.namespace ?? "", claim.name ?? ""),
        secrets,
      });
      for (const secret of secrets) {
        volumesOfSecret.set(secret, (volumesOfSecret.get(secret) ?? new Set()).add(name));
      }
    },
    deleteVolume: forgetVolume,
    needs(nodeName, { resource, namespace, name }) {
      const objects = needed.get(nodeName);
      if (!objects) return false;
      const hasVolume = (volume: string) => objects.has(volumes.get(volume)?.claim ?? "");
      if (resource === "persistentvolumes") return hasVolume(name);
      const key = keyOf(resource, namespace, name);
      return objects.has(key) || [...(volumesOfSecret.get(key) ?? [])].some(hasVolume);
    },
  };

  function forgetPod(key: string): void {
    const pod = pods.get(key);
    if (!pod) return;
    pods.delete(key);
    const counts = needed.get(pod.nodeName);
    for (const object of pod.needs) {
      const left = (counts?.get(object) ?? 0) - 1;
      if (left > 0) counts?.set(object, left);
      else counts?.delete(object);
    }
    if (counts?.size === 0) needed.delete(pod.nodeName);
  }

  function forgetVolume(name: string): void {
    for (const secret of volumes.get(name)?.secrets ?? []) {
      const users = volumesOfSecret.get(secret);
      users?.delete(name);
      if (users?.size === 0) volumesOfSecret.delete(secret);
    }
    volumes.delete(name);
  }
}

/** References of a pod. Mirror pods have none, because nodes create them and must not gain permissions that way. */
function needsOf(pod: Pod): string[] {
  const { namespace = "" } = pod.metadata;
  if (isMirrorPod(pod)) return [];
  const { secrets, configMaps, claims, serviceAccount } = podReferences(pod);
  return [
    ...secrets.map((name) => keyOf("secrets", namespace, name)),
    ...configMaps.map((name) => keyOf("configmaps", namespace, name)),
    ...claims.map((name) => keyOf("persistentvolumeclaims", namespace, name)),
    ...(serviceAccount ? [keyOf("serviceaccounts", namespace, serviceAccount)] : []),
  ];
}

function keyOf(resource: string, namespace: string, name: string): string {
  return `${resource}/${namespace}/${name}`;
}

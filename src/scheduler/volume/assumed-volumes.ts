import type { PersistentVolume, PersistentVolumeClaim } from "../../api/objects.ts";
import { holdFor, selectedNodeAnnotation } from "../../api/volume-binding.ts";
import { keyOf } from "../../client/object-key.ts";
import type { ApiObjects } from "../snapshot.ts";
import type { VolumePlan } from "./plan-volumes.ts";

/** The API's objects, as they will be when the plans that are under way are written. */
export interface AssumedVolumes {
  readonly objects: ApiObjects;
  /** Until the answer is called. */
  assume(plan: VolumePlan, nodeName: string): () => void;
}

export function createAssumedVolumes(objects: ApiObjects): AssumedVolumes {
  const volumes = new Map<string, PersistentVolume>();
  const claims = new Map<string, PersistentVolumeClaim>();
  const current = (volume: PersistentVolume) => volumes.get(volume.metadata.name ?? "") ?? volume;
  return {
    objects: {
      ...objects,
      claim: (key) => claims.get(key) ?? objects.claim(key),
      volume: (name) => volumes.get(name) ?? objects.volume(name),
      volumesOfClass(className) {
        const found = objects.volumesOfClass(className);
        return volumes.size === 0 ? found : found.map(current);
      },
    },
    assume({ bindings, provisions }, nodeName) {
      const names = bindings.map(({ claim, volume }) => {
        const name = volume.metadata.name ?? "";
        volumes.set(name, holdFor(volume, claim));
        return name;
      });
      const keys = provisions.map((claim) => {
        claims.set(keyOf(claim), withNode(claim, nodeName));
        return keyOf(claim);
      });
      return () => {
        for (const name of names) volumes.delete(name);
        for (const key of keys) claims.delete(key);
      };
    },
  };
}

/** The claim as it is to be: with the node on which its volume shall be made. */
export function withNode(claim: PersistentVolumeClaim, nodeName: string): PersistentVolumeClaim {
  const { annotations } = claim.metadata;
  if (annotations?.[selectedNodeAnnotation] === nodeName) return claim;
  return {
    ...claim,
    metadata: { ...claim.metadata, annotations: { ...annotations, [selectedNodeAnnotation]: nodeName } },
  };
}

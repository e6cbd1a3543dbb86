import type { PersistentVolume, PersistentVolumeClaim } from "../../api/objects.ts";
import { boundByControllerAnnotation, isHeldFor, selectedNodeAnnotation } from "../../api/volume-binding.ts";
import type { ApiObjects } from "../snapshot.ts";
import { keyOfClaim } from "./claim-facts.ts";
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
        volumes.set(name, withClaim(volume, claim));
        return name;
      });
      const keys = provisions.map((claim) => {
        claims.set(keyOfClaim(claim), withNode(claim, nodeName));
        return keyOfClaim(claim);
      });
      return () => {
        for (const name of names) volumes.delete(name);
        for (const key of keys) claims.delete(key);
      };
    },
  };
}

/** The volume as it is to be: held for the claim. */
export function withClaim(volume: PersistentVolume, claim: PersistentVolumeClaim): PersistentVolume {
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  const claimRef = { kind: "PersistentVolumeClaim", apiVersion: "v1", namespace, name, uid, resourceVersion };
  const annotations = isHeldFor(volume, claim)
    ? volume.metadata.annotations
    : { ...volume.metadata.annotations, [boundByControllerAnnotation]: "yes" };
  const isHeld = isHeldFor(volume, claim) && Boolean(volume.spec?.claimRef?.uid);
  if (isHeld) return volume;
  return {
    ...volume,
    metadata: { ...volume.metadata, annotations },
    spec: { ...volume.spec, claimRef },
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

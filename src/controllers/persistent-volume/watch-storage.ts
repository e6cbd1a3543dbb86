import { bindCompletedAnnotation } from "../../api/volume-binding.ts";
import { keyOf } from "../../client/object-key.ts";
import type { Informers } from "../informers.ts";
import { annotationOf, claimNamesOf, heldKeyOf } from "./volume-facts.ts";

export interface Wakers {
  /** By `namespace/name`. */
  wakeClaim(key: string): void;
  wakeVolume(name: string | undefined): void;
}

/** Which claims and volumes a change of a claim, a volume, a class or a pod concerns. */
export function watchStorage(informers: Informers, { wakeClaim, wakeVolume }: Wakers): void {
  const claims = informers.of("persistentvolumeclaims");
  const volumes = informers.of("persistentvolumes");

  claims.onChange(({ kind, object }) => {
    if (kind !== "deleted") wakeClaim(keyOf(object));
    if (object.spec?.volumeName) wakeVolume(object.spec.volumeName);
    else if (kind === "deleted") wakeVolumesOf(keyOf(object));
  });

  volumes.onChange((change) => {
    const { kind, object } = change;
    if (kind !== "deleted") wakeVolume(object.metadata.name);
    if (object.spec?.claimRef) wakeClaim(heldKeyOf(object));
    const isFree = kind !== "deleted" && object.status?.phase === "Available";
    if (isFree && !(kind === "changed" && change.previous.status?.phase === "Available")) wakeWaitingClaims();
  });

  informers.of("storageclasses").onChange(({ kind }) => {
    if (kind !== "deleted") wakeWaitingClaims();
  });

  informers.of("pods").onChange(({ kind, object }) => {
    const { namespace } = object.metadata;
    for (const name of claimNamesOf(object)) {
      const claim = claims.get(`${namespace}/${name}`);
      // What waits for a pod to come, or to go.
      const isWaiting = kind === "added" && claim && !claim.spec?.volumeName;
      if (isWaiting || (kind === "deleted" && claim?.metadata.deletionTimestamp)) {
        wakeClaim(`${namespace}/${name}`);
      }
      if (kind === "deleted" && !claim) wakeVolumesOf(`${namespace}/${name}`);
    }
  });

  function wakeWaitingClaims(): void {
    for (const claim of claims.list()) {
      if (annotationOf(claim, bindCompletedAnnotation) === undefined) wakeClaim(keyOf(claim));
    }
  }

  function wakeVolumesOf(claim: string): void {
    for (const volume of volumes.list()) if (heldKeyOf(volume) === claim) wakeVolume(volume.metadata.name);
  }
}

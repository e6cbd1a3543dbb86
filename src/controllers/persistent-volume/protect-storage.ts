import type { PersistentVolume, PersistentVolumeClaim, Pod } from "../../api/objects.ts";
import type { Client } from "../../client/client.ts";
import {
  claimProtection,
  decideClaimProtection,
  decideVolumeProtection,
  usesClaim,
  volumeProtection,
  withFinalizer,
  withoutFinalizer,
} from "./protection.ts";

/** Answers with the claim as it is then; undefined when it is let go. */
export async function protectClaim(
  client: Client,
  claim: PersistentVolumeClaim,
  { podsNear, signal }: { readonly podsNear: readonly Pod[]; readonly signal: AbortSignal },
): Promise<PersistentVolumeClaim | undefined> {
  const { namespace } = claim.metadata;
  switch (decideClaimProtection(claim, podsNear)) {
    case "keep":
      return claim;
    case "add":
      return client.update("persistentvolumeclaims", withFinalizer(claim, claimProtection), { signal });
    case "remove": {
      // A pod may have come that no informer has shown: the API has the last word.
      const live = await client.list("pods", { namespace, signal });
      if (live.items.some((pod) => usesClaim(pod, claim))) return claim;
      await client.update("persistentvolumeclaims", withoutFinalizer(claim, claimProtection), { signal });
      return undefined;
    }
  }
}

/** Likewise. */
export async function protectVolume(
  client: Client,
  volume: PersistentVolume,
  signal: AbortSignal,
): Promise<PersistentVolume | undefined> {
  switch (decideVolumeProtection(volume)) {
    case "keep":
      return volume;
    case "add":
      return client.update("persistentvolumes", withFinalizer(volume, volumeProtection), { signal });
    case "remove": {
      const next = withoutFinalizer(volume, volumeProtection);
      const free = await client.update("persistentvolumes", next, { signal });
      return next.metadata.finalizers?.length ? free : undefined;
    }
  }
}

import type { PersistentVolume, PersistentVolumeClaim } from "../../api/objects.ts";
import type { Client } from "../../client/client.ts";
import { messageOf } from "../../lib/message-of.ts";
import { VolumeProblem } from "./volume-problem.ts";
import type { VolumeRequest } from "./volume-request.ts";

/** The persistent volume that a pod's claim is bound to. */
export async function findClaimedVolume(
  client: Client,
  { pod, volume, signal }: VolumeRequest,
): Promise<PersistentVolume> {
  const { namespace = "" } = pod.metadata;
  const { claimName = "" } = volume.persistentVolumeClaim ?? {};
  try {
    const claim = await client
      .get("persistentvolumeclaims", { namespace, name: claimName }, { signal })
      .catch(because("failed to fetch PVC from API server"));
    const name = boundVolume(claim);
    const persistent = await client
      .get("persistentvolumes", { name }, { signal })
      .catch(because(`failed to fetch PV ${name} from API server`));
    checkBinding(persistent, claim);
    return persistent;
  } catch (error) {
    signal.throwIfAborted();
    const why = messageOf(error);
    const { name } = volume;
    throw new VolumeProblem(
      `Unable to attach or mount volumes: unmounted volumes=[${name}], unattached volumes=[], ` +
        `failed to process volumes=[${name}]: error processing PVC ${namespace}/${claimName}: ${why}`,
      { cause: error },
    );
  }
}

/** Throws what keeps a claim from being used. */
function boundVolume(claim: PersistentVolumeClaim): string {
  const { deletionTimestamp, finalizers = [] } = claim.metadata;
  if (deletionTimestamp && !finalizers.includes("kubernetes.io/pvc-protection")) {
    throw new Error("PVC is being deleted");
  }
  if (claim.status?.phase !== "Bound") throw new Error("PVC is not bound");
  if (!claim.spec?.volumeName) throw new Error("PVC has empty pvc.Spec.VolumeName");
  return claim.spec.volumeName;
}

/** Throws unless the volume says, too, that it belongs to the claim. */
function checkBinding(persistent: PersistentVolume, claim: PersistentVolumeClaim): void {
  const found = `found PV object ${persistent.metadata.name} but`;
  const { claimRef } = persistent.spec ?? {};
  if (!claimRef) {
    throw new Error(`${found} it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`);
  }
  if (claimRef.uid !== claim.metadata.uid) {
    const uids = `${claimRef.uid ?? ""} does not point to claim.UID ${claim.metadata.uid}`;
    throw new Error(`${found} its pv.Spec.ClaimRef.UID ${uids}`);
  }
}

function because(what: string): (error: unknown) => never {
  return (error) => {
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
  };
}

import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "../../api/meta/objects.ts";
import { holdFor } from "../../api/pod/volume-binding.ts";
import type { Client } from "../../client/api/client.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import type { ClaimPlan } from "./decide-claim.ts";
import type { LocalProvisioner } from "./local-provisioner.ts";
import {
  annotationOf,
  claimBoundTo,
  claimInPhase,
  localProvisioner,
  volumeInPhase,
  withAnnotations,
} from "./storage-objects.ts";

interface ClaimActorDeps {
  readonly client: Client;
  readonly recorder: EventRecorder;
  /** Provisioner of local volumes. Undefined if they are not enabled. */
  readonly local: LocalProvisioner | undefined;
}

const provisionerAnnotations = [
  "volume.beta.kubernetes.io/storage-provisioner",
  "volume.kubernetes.io/storage-provisioner",
];

/** Carries out the plan for a claim. Each step writes only what differs, so that it can resume after an interruption. */
export async function actOnClaim(
  deps: ClaimActorDeps,
  { claim, plan, signal }: { claim: PersistentVolumeClaim; plan: ClaimPlan; signal: AbortSignal },
): Promise<void> {
  const { client, recorder } = deps;
  switch (plan.kind) {
    case "none":
      return;
    case "bind":
      return bind(client, { claim, volume: plan.volume, signal });
    case "phase": {
      // ClaimLost is reported once; reasons for waiting are reported on each sync and deduplicated by the recorder.
      const shouldRecord = plan.phase !== "Lost" || claim.status?.phase !== "Lost";
      await writeClaimStatus(client, { before: claim, after: claimInPhase(claim, plan.phase), signal });
      if (plan.event && shouldRecord) recorder.record(claim, plan.event);
      return;
    }
    case "assignClass": {
      const spec = { ...claim.spec, storageClassName: plan.className };
      await client.update("persistentvolumeclaims", { ...claim, spec }, { signal });
      return;
    }
    case "provision":
      return provision(deps, { claim, storageClass: plan.storageClass, signal });
    case "fail":
      recorder.record(claim, plan.event);
      throw new Error(plan.message);
  }
}

/** Writes the volume first, so that no other claim can take it, then the claim. */
async function bind(
  client: Client,
  { claim, volume, signal }: { claim: PersistentVolumeClaim; volume: PersistentVolume; signal: AbortSignal },
): Promise<void> {
  let own = holdFor(volume, claim);
  if (own !== volume) own = await client.update("persistentvolumes", own, { signal });
  const bound = volumeInPhase(own, "Bound");
  if (bound !== own) {
    own = await client.update("persistentvolumes", bound, { subresource: "status", signal });
  }
  let named = claimBoundTo(claim, own);
  if (named !== claim) named = await client.update("persistentvolumeclaims", named, { signal });
  await writeClaimStatus(client, { before: named, after: claimInPhase(named, "Bound", own), signal });
}

async function writeClaimStatus(
  client: Client,
  { before, after, signal }: { before: unknown; after: PersistentVolumeClaim; signal: AbortSignal },
): Promise<void> {
  if (after === before) return;
  await client.update("persistentvolumeclaims", after, { subresource: "status", signal });
}

async function provision(
  { client, recorder, local }: ClaimActorDeps,
  {
    claim,
    storageClass,
    signal,
  }: {
    claim: PersistentVolumeClaim;
    storageClass: StorageClass;
    signal: AbortSignal;
  },
): Promise<void> {
  const { provisioner } = storageClass;
  if (provisioner.startsWith("kubernetes.io/")) {
    const message = `no volume plugin matched name: ${provisioner}`;
    recorder.record(claim, { type: "Warning", reason: "ProvisioningFailed", message });
    return;
  }
  const annotated = provisionerAnnotations.every((name) => annotationOf(claim, name) === provisioner)
    ? claim
    : await client.update(
        "persistentvolumeclaims",
        withAnnotations(claim, Object.fromEntries(provisionerAnnotations.map((name) => [name, provisioner]))),
        { signal },
      );
  if (local && provisioner === localProvisioner) {
    await local.provision({ claim: annotated, storageClass, signal });
    return;
  }
  const message =
    `Waiting for a volume to be created either by the external provisioner '${provisioner}' ` +
    "or manually by the system administrator. If volume creation is delayed, please verify that " +
    "the provisioner is running and correctly registered.";
  recorder.record(claim, { type: "Normal", reason: "ExternalProvisioning", message });
}

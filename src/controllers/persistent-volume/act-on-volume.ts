import type { PersistentVolume, PersistentVolumeClaim } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import { isConflict, isNotFound } from "../../client/transport/status-errors.ts";
import { messageOf } from "../../lib/message-of.ts";
import { decideReclaim, type VolumePlan } from "./decide-volume.ts";
import { type LocalProvisioner, localFinalizer } from "./local-provisioner.ts";
import { withoutFinalizer } from "./protection.ts";
import { unboundVolume, volumeInPhase } from "./storage-objects.ts";

interface VolumeActorDeps {
  readonly client: Client;
  readonly recorder: EventRecorder;
  readonly local: LocalProvisioner | undefined;
  /** Whether pods still use the claim that the volume is bound to. */
  isUsed(volume: PersistentVolume): boolean;
}

interface VolumeStep {
  readonly volume: PersistentVolume;
  readonly claim: PersistentVolumeClaim | undefined;
  readonly plan: Exclude<VolumePlan, { kind: "requeueClaim" }>;
  readonly signal: AbortSignal;
}

/** Carries out the plan for a volume. */
export async function actOnVolume(deps: VolumeActorDeps, step: VolumeStep): Promise<void> {
  const { volume, claim, plan, signal } = step;
  switch (plan.kind) {
    case "phase":
      await writePhase(deps.client, { volume, phase: plan.phase, signal });
      return;
    case "mismatch":
      return reportMismatch(deps.recorder, volume, claim);
    case "unbind": {
      const free = await deps.client.update("persistentvolumes", unboundVolume(volume), { signal });
      await writePhase(deps.client, { volume: free, phase: "Available", signal });
      return;
    }
    case "release": {
      const isReleased = volume.status?.phase === "Released" || volume.status?.phase === "Failed";
      const released = isReleased
        ? volume
        : await writePhase(deps.client, { volume, phase: "Released", signal });
      return reclaim(deps, released, signal);
    }
  }
}

async function writePhase(
  client: Client,
  {
    volume,
    phase,
    message,
    signal,
  }: {
    volume: PersistentVolume;
    phase: string;
    message?: string;
    signal: AbortSignal;
  },
): Promise<PersistentVolume> {
  const next = volumeInPhase(volume, phase, message);
  if (next === volume) return volume;
  return client.update("persistentvolumes", next, { subresource: "status", signal });
}

async function reclaim(deps: VolumeActorDeps, volume: PersistentVolume, signal: AbortSignal): Promise<void> {
  const action = decideReclaim(volume);
  switch (action.kind) {
    case "leave":
      // The data is kept; only the finalizer that guards its removal is in the way.
      if (volume.metadata.deletionTimestamp && volume.metadata.finalizers?.includes(localFinalizer)) {
        await deps.client.update("persistentvolumes", withoutFinalizer(volume, localFinalizer), { signal });
      }
      return;
    case "fail":
      return fail(deps, { volume, ...action, signal });
    case "removeLocal":
      return removeLocal(deps, volume, signal);
  }
}

async function removeLocal(
  deps: VolumeActorDeps,
  seen: PersistentVolume,
  signal: AbortSignal,
): Promise<void> {
  const { client, local } = deps;
  // The deletion of the last pod requeues the volume.
  if (!local || deps.isUsed(seen)) return;
  const { name = "", uid } = seen.metadata;
  try {
    // Removing data is irreversible: the volume must be unchanged in the API.
    const volume = await client.get("persistentvolumes", { name }, { signal });
    const isSame = volume.metadata.uid === uid && volume.spec?.claimRef?.uid === seen.spec?.claimRef?.uid;
    if (!isSame || decideReclaim(volume).kind !== "removeLocal") return;
    await local.removeData(volume);
    if (volume.metadata.finalizers?.includes(localFinalizer)) {
      await client.update("persistentvolumes", withoutFinalizer(volume, localFinalizer), { signal });
    }
    await client.delete("persistentvolumes", { name }, { preconditions: { uid }, signal });
  } catch (error) {
    if (isNotFound(error)) return;
    signal.throwIfAborted();
    if (isConflict(error)) throw error;
    await fail(deps, { volume: seen, reason: "VolumeFailedDelete", message: messageOf(error), signal });
    throw error;
  }
}

/** Sets the phase Failed and records an event, once. */
async function fail(
  { client, recorder }: VolumeActorDeps,
  {
    volume,
    reason,
    message,
    signal,
  }: {
    volume: PersistentVolume;
    reason: string;
    message: string;
    signal: AbortSignal;
  },
): Promise<void> {
  if (volume.status?.phase === "Failed") return;
  const failed = await writePhase(client, { volume, phase: "Failed", message, signal });
  recorder.record(failed, { type: "Warning", reason, message });
}

function reportMismatch(
  recorder: EventRecorder,
  volume: PersistentVolume,
  claim: PersistentVolumeClaim | undefined,
): void {
  if (!claim) return;
  const because = "due to incompatible volumeMode.";
  const reason = "VolumeMismatch";
  recorder.record(volume, {
    type: "Warning",
    reason,
    message: `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claim.metadata.name}" ${because}`,
  });
  recorder.record(claim, {
    type: "Warning",
    reason,
    message: `Cannot bind PersistentVolume "${volume.metadata.name}" to requested PersistentVolumeClaim ${because}`,
  });
}

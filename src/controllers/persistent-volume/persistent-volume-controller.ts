import type { PersistentVolume, PersistentVolumeClaim } from "../../api/objects.ts";
import { hasEnded } from "../../api/pod-phase.ts";
import { bindCompletedAnnotation } from "../../api/volume-binding.ts";
import type { EventRecorder } from "../../client/event-recorder.ts";
import { keyOf } from "../../client/object-key.ts";
import { createRecentMap } from "../../client/recent-map.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../client/status-errors.ts";
import type { WorkQueue } from "../../client/work-queue.ts";
import { type ControllerContext, type Reconciled, runController } from "../run-controller.ts";
import { actOnClaim } from "./claim-actor.ts";
import { decideClaim } from "./decide-claim.ts";
import { decideVolume } from "./decide-volume.ts";
import { standardClass } from "./default-class.ts";
import { createLocalProvisioner } from "./local-provisioner.ts";
import {
  claimProtection,
  decideClaimProtection,
  decideVolumeProtection,
  usesClaim,
  volumeProtection,
  withFinalizer,
  withoutFinalizer,
} from "./protection.ts";
import { actOnVolume } from "./volume-actor.ts";
import { annotationOf, claimNamesOf, heldKeyOf } from "./volume-facts.ts";

/** Two sides of one binding are written from two keys: who comes second looks again soon. */
const conflictMs = 50;
const rememberedClaims = 10_000;

type Keys = Pick<WorkQueue, "add">;

/** Brings claims and volumes together, protects both while they are used, and makes volumes on this machine. */
export async function runPersistentVolumeController(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, localVolumes } = context;
  const recorder = context.recorder("persistentvolume-controller");
  const claims = informers.of("persistentvolumeclaims");
  const volumes = informers.of("persistentvolumes");
  const classes = informers.of("storageclasses");
  const pods = informers.of("pods");
  const nodes = informers.of("nodes");
  const local =
    localVolumes &&
    createLocalProvisioner({ client, recorder, nodes, volumes, directory: localVolumes.directory });
  /** A claim that waits says so once, however often it is looked at. */
  const said = createRecentMap<string>(rememberedClaims);
  const oncePerClaim: EventRecorder = {
    record(claim, event) {
      const { uid = "" } = claim.metadata;
      if (said.get(uid) === event.message) return;
      said.set(uid, event.message);
      recorder.record(claim, event);
    },
  };
  let keys: Keys | undefined;

  const podsNear = (namespace = "") => pods.byIndex("namespace", namespace);
  const wakeClaim = (key: string) => keys?.add(`claim:${key}`);
  const wakeVolume = (name = "") => keys?.add(`volume:${name}`);

  /** Answers with the claim as it is then; undefined when it is let go. */
  async function protectClaim(claim: PersistentVolumeClaim): Promise<PersistentVolumeClaim | undefined> {
    const { namespace } = claim.metadata;
    switch (decideClaimProtection(claim, podsNear(namespace))) {
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

  async function reconcileClaim(key: string): Promise<void> {
    const seen = claims.get(key);
    const claim = seen && (await protectClaim(seen));
    if (!claim) return;
    const { namespace, name = "" } = claim.metadata;
    const waitingPods = () =>
      podsNear(namespace)
        .filter((pod) => !pod.spec?.nodeName && !hasEnded(pod) && claimNamesOf(pod).includes(name))
        .map(({ metadata }) => metadata.name ?? "");
    const plan = decideClaim({
      claim,
      volume: volumes.get,
      volumes: volumes.list(),
      classes: [...classes.list()],
      waitingPods,
    });
    await actOnClaim({ client, recorder: oncePerClaim, local }, { claim, plan, signal });
  }

  async function protectVolume(volume: PersistentVolume): Promise<PersistentVolume | undefined> {
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

  /** The claim that a volume is held for. What the informers miss is asked for before a volume is given up. */
  async function claimOf(volume: PersistentVolume): Promise<PersistentVolumeClaim | undefined> {
    const { namespace, name = "", uid } = volume.spec?.claimRef ?? {};
    const seen = claims.get(heldKeyOf(volume));
    const isGivenUp = volume.status?.phase === "Released" || volume.status?.phase === "Failed";
    if (!uid || seen?.metadata.uid === uid || (isGivenUp && !seen)) return seen;
    try {
      return await client.get("persistentvolumeclaims", { namespace, name }, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async function reconcileVolume(name: string): Promise<void> {
    const seen = volumes.get(name);
    const volume = seen && (await protectVolume(seen));
    if (!volume) return;
    const claim = await claimOf(volume);
    const plan = decideVolume(volume, claim);
    if (plan.kind === "wakeClaim") {
      wakeClaim(heldKeyOf(volume));
      return;
    }
    const isUsed = ({ spec }: PersistentVolume) =>
      podsNear(spec?.claimRef?.namespace).some(
        (pod) => pod.spec?.nodeName && claimNamesOf(pod).includes(spec?.claimRef?.name ?? ""),
      );
    await actOnVolume({ client, recorder, local, isUsed }, { volume, claim, plan, signal });
  }

  async function reconcile(key: string): Promise<Reconciled> {
    const at = key.indexOf(":");
    const rest = key.slice(at + 1);
    try {
      switch (key.slice(0, at)) {
        case "claim":
          await reconcileClaim(rest);
          return undefined;
        case "volume":
          await reconcileVolume(rest);
          return undefined;
        default:
          await createStandardClass();
          return undefined;
      }
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (isConflict(error)) return { againAfterMs: conflictMs };
      throw error;
    }
  }

  async function createStandardClass(): Promise<void> {
    const standard = standardClass([...classes.list()]);
    if (!standard) return;
    await (localVolumes?.admin ?? client).create("storageclasses", standard, { signal }).catch((error) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }

  function wakeWaitingClaims(): void {
    for (const claim of claims.list()) {
      if (annotationOf(claim, bindCompletedAnnotation) === undefined) wakeClaim(keyOf(claim));
    }
  }

  function watch(queue: Keys): void {
    keys = queue;
    if (localVolumes) queue.add("class:standard");
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
      if (isFree && !(kind === "changed" && change.previous.status?.phase === "Available"))
        wakeWaitingClaims();
    });
    classes.onChange(({ kind }) => {
      if (kind !== "deleted") wakeWaitingClaims();
    });
    pods.onChange(({ kind, object }) => {
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
  }

  function wakeVolumesOf(claim: string): void {
    for (const volume of volumes.list()) if (heldKeyOf(volume) === claim) wakeVolume(volume.metadata.name);
  }

  await runController(context, { name: "persistent-volume", concurrency: 10, watch, reconcile }, signal);
}

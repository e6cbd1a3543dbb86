import type { PersistentVolume, PersistentVolumeClaim } from "../../api/meta/objects.ts";
import { hasEnded } from "../../api/pod/pod-state.ts";
import { bindCompletedAnnotation } from "../../api/pod/volume-binding.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { WorkQueue } from "../../client/queue/work-queue.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../client/transport/status-errors.ts";
import { createLruMap } from "../../lib/lru-map.ts";
import type { Informers } from "../shared/informers.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";
import { actOnClaim } from "./act-on-claim.ts";
import { actOnVolume } from "./act-on-volume.ts";
import { decideClaim } from "./decide-claim.ts";
import { decideVolume } from "./decide-volume.ts";
import { createLocalProvisioner } from "./local-provisioner.ts";
import { protectClaim, protectVolume } from "./protection.ts";
import { annotationOf, claimNamesOf, heldKeyOf, standardClass } from "./storage-objects.ts";

/** Requeue delay after a conflict: both sides of a binding are written from different keys. */
const conflictRequeueMs = 50;
const maxRememberedClaims = 10_000;

type Keys = Pick<WorkQueue, "add">;

/** Binds claims and volumes, protects both while they are in use and provisions local volumes until the signal aborts. */
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
  /** Last event message by claim uid, so that a waiting claim does not get the same event on every sync. */
  const lastMessages = createLruMap<string>(maxRememberedClaims);
  const deduplicatingRecorder: EventRecorder = {
    record(claim, event) {
      const { uid = "" } = claim.metadata;
      if (lastMessages.get(uid) === event.message) return;
      lastMessages.set(uid, event.message);
      recorder.record(claim, event);
    },
  };
  let keys: Keys | undefined;

  const podsIn = (namespace = "") => pods.byIndex("namespace", namespace);
  const requeueClaim = (key: string) => keys?.add(`claim:${key}`);
  const requeueVolume = (name = "") => keys?.add(`volume:${name}`);

  async function reconcileClaim(key: string): Promise<void> {
    const seen = claims.get(key);
    if (!seen) return;
    const { namespace, name = "" } = seen.metadata;
    const claim = await protectClaim(client, seen, { pods: podsIn(namespace), signal });
    if (!claim) return;
    const waitingPods = () =>
      podsIn(namespace)
        .filter((pod) => !pod.spec?.nodeName && !hasEnded(pod) && claimNamesOf(pod).includes(name))
        .map(({ metadata }) => metadata.name ?? "");
    const plan = decideClaim({
      claim,
      volume: volumes.get,
      volumes: volumes.list(),
      classes: [...classes.list()],
      waitingPods,
    });
    await actOnClaim({ client, recorder: deduplicatingRecorder, local }, { claim, plan, signal });
  }

  /** Claim of a volume. Before a volume is released, a claim that the informer lacks is requested from the API. */
  async function claimOf(volume: PersistentVolume): Promise<PersistentVolumeClaim | undefined> {
    const { namespace, name = "", uid } = volume.spec?.claimRef ?? {};
    const seen = claims.get(heldKeyOf(volume));
    const isReleased = volume.status?.phase === "Released" || volume.status?.phase === "Failed";
    if (!uid || seen?.metadata.uid === uid || (isReleased && !seen)) return seen;
    try {
      return await client.get("persistentvolumeclaims", { namespace, name }, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async function reconcileVolume(name: string): Promise<void> {
    const seen = volumes.get(name);
    const volume = seen && (await protectVolume(client, seen, signal));
    if (!volume) return;
    const claim = await claimOf(volume);
    const plan = decideVolume(volume, claim);
    if (plan.kind === "requeueClaim") {
      requeueClaim(heldKeyOf(volume));
      return;
    }
    const isUsed = ({ spec }: PersistentVolume) =>
      podsIn(spec?.claimRef?.namespace).some(
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
      if (isConflict(error)) return { requeueAfterMs: conflictRequeueMs };
      throw error;
    }
  }

  async function createStandardClass(): Promise<void> {
    const standard = standardClass([...classes.list()]);
    if (!standard) return;
    await (localVolumes?.classCreator ?? client)
      .create("storageclasses", standard, { signal })
      .catch((error) => {
        if (!isAlreadyExists(error)) throw error;
      });
  }

  function watch(queue: Keys): void {
    keys = queue;
    if (localVolumes) queue.add("class:standard");
    watchStorage(informers, { requeueClaim, requeueVolume });
  }

  await runController(context, { name: "persistent-volume", concurrency: 10, watch, reconcile }, signal);
}

interface Requeues {
  /** Takes `namespace/name`. */
  requeueClaim(key: string): void;
  requeueVolume(name: string | undefined): void;
}

/** Requeues the claims and volumes that are affected by a change of a claim, volume, class or pod. */
function watchStorage(informers: Informers, { requeueClaim, requeueVolume }: Requeues): void {
  const claims = informers.of("persistentvolumeclaims");
  const volumes = informers.of("persistentvolumes");

  claims.onChange(({ kind, object }) => {
    if (kind !== "deleted") requeueClaim(keyOf(object));
    if (object.spec?.volumeName) requeueVolume(object.spec.volumeName);
    else if (kind === "deleted") requeueVolumesOf(keyOf(object));
  });

  volumes.onChange((change) => {
    const { kind, object } = change;
    if (kind !== "deleted") requeueVolume(object.metadata.name);
    if (object.spec?.claimRef) requeueClaim(heldKeyOf(object));
    const isFree = kind !== "deleted" && object.status?.phase === "Available";
    if (isFree && !(kind === "changed" && change.previous.status?.phase === "Available"))
      requeueUnboundClaims();
  });

  informers.of("storageclasses").onChange(({ kind }) => {
    if (kind !== "deleted") requeueUnboundClaims();
  });

  informers.of("pods").onChange(({ kind, object }) => {
    const { namespace } = object.metadata;
    for (const name of claimNamesOf(object)) {
      const claim = claims.get(`${namespace}/${name}`);
      // Unbound claims wait for a pod to be created, deleted claims for it to be deleted.
      const isWaiting = kind === "added" && claim && !claim.spec?.volumeName;
      if (isWaiting || (kind === "deleted" && claim?.metadata.deletionTimestamp)) {
        requeueClaim(`${namespace}/${name}`);
      }
      if (kind === "deleted" && !claim) requeueVolumesOf(`${namespace}/${name}`);
    }
  });

  function requeueUnboundClaims(): void {
    for (const claim of claims.list()) {
      if (annotationOf(claim, bindCompletedAnnotation) === undefined) requeueClaim(keyOf(claim));
    }
  }

  function requeueVolumesOf(claim: string): void {
    for (const volume of volumes.list()) if (heldKeyOf(volume) === claim) requeueVolume(volume.metadata.name);
  }
}

import type { PersistentVolume, PersistentVolumeClaim } from "../../api/objects.ts";
import { hasEnded } from "../../api/pod-phase.ts";
import type { EventRecorder } from "../../client/event-recorder.ts";
import { createRecentMap } from "../../client/recent-map.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../client/status-errors.ts";
import type { WorkQueue } from "../../client/work-queue.ts";
import { type ControllerContext, type Reconciled, runController } from "../run-controller.ts";
import { actOnClaim } from "./act-on-claim.ts";
import { actOnVolume } from "./act-on-volume.ts";
import { decideClaim } from "./decide-claim.ts";
import { decideVolume } from "./decide-volume.ts";
import { standardClass } from "./default-class.ts";
import { createLocalProvisioner } from "./local-provisioner.ts";
import { protectClaim, protectVolume } from "./protect-storage.ts";
import { claimNamesOf, heldKeyOf } from "./volume-facts.ts";
import { watchStorage } from "./watch-storage.ts";

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

  async function reconcileClaim(key: string): Promise<void> {
    const seen = claims.get(key);
    if (!seen) return;
    const { namespace, name = "" } = seen.metadata;
    const claim = await protectClaim(client, seen, { podsNear: podsNear(namespace), signal });
    if (!claim) return;
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
    const volume = seen && (await protectVolume(client, seen, signal));
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
    await (localVolumes?.classCreator ?? client)
      .create("storageclasses", standard, { signal })
      .catch((error) => {
        if (!isAlreadyExists(error)) throw error;
      });
  }

  function watch(queue: Keys): void {
    keys = queue;
    if (localVolumes) queue.add("class:standard");
    watchStorage(informers, { wakeClaim, wakeVolume });
  }

  await runController(context, { name: "persistent-volume", concurrency: 10, watch, reconcile }, signal);
}

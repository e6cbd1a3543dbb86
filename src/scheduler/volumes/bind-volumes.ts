import type { PersistentVolume, PersistentVolumeClaim } from "../../api/meta/objects.ts";
import { holdFor, selectedNodeAnnotation } from "../../api/pod/volume-binding.ts";
import type { Client } from "../../client/api/client.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { Clock } from "../../lib/clock.ts";
import type { WakeUp } from "../../lib/wake-up.ts";
import type { ApiObjects } from "../model/informers.ts";
import type { NodeInfo } from "../model/node-info.ts";
import { isFullyBound, isReachable, type VolumePlan } from "./plan-volumes.ts";

export interface BindVolumesDeps {
  readonly client: Pick<Client, "update">;
  /** Objects from the informers, without assumed bindings. */
  readonly objects: ApiObjects;
  node(name: string): NodeInfo | undefined;
  /** Notified when a claim or volume changes. */
  readonly changes: WakeUp;
  readonly clock: Clock;
}

/** Upstream's bindTimeoutSeconds. */
const timeoutMs = 600_000;

/** Resource versions that this scheduler replaced: cached objects with these versions are outdated. */
type Written = ReadonlySet<string | undefined>;

/** Writes a plan. Returns the resource versions that it replaced. */
export async function writeVolumes(
  { client }: Pick<BindVolumesDeps, "client">,
  plan: VolumePlan,
  { nodeName, signal }: { nodeName: string; signal: AbortSignal },
): Promise<Written> {
  const replaced = new Set<string | undefined>();
  for (const { claim, volume } of plan.bindings) {
    const held = holdFor(volume, claim);
    if (held === volume) continue;
    await client.update("persistentvolumes", held, { signal });
    replaced.add(volume.metadata.resourceVersion);
  }
  for (const claim of plan.provisions) {
    const placed = withNode(claim, nodeName);
    if (placed === claim) continue;
    await client.update("persistentvolumeclaims", placed, { signal });
    replaced.add(claim.metadata.resourceVersion);
  }
  return replaced;
}

/** Waits until every claim of a plan is bound. Throws when that has become impossible. */
export async function awaitVolumes(
  deps: BindVolumesDeps,
  plan: VolumePlan,
  options: { nodeName: string; replaced: Written; signal: AbortSignal },
): Promise<void> {
  const { clock, changes } = deps;
  const deadline = clock.now() + timeoutMs;
  for (;;) {
    const change = changes.next();
    if (areBound(deps, plan, options)) return;
    if (clock.now() >= deadline) throw new Error("binding volumes: context deadline exceeded");
    await change.orAt(deadline, { clock, signal: options.signal });
  }
}

function areBound(
  { objects, node }: BindVolumesDeps,
  { bindings, provisions }: VolumePlan,
  { nodeName, replaced }: { nodeName: string; replaced: Written },
): boolean {
  const labels = node(nodeName)?.labels;
  if (!node(nodeName)) throw new Error(`binding volumes: node "${nodeName}" not found`);
  let isDone = true;
  for (const planned of bindings) {
    const name = planned.volume.metadata.name ?? "";
    const volume = objects.volume(name);
    const claim = objects.claim(keyOf(planned.claim));
    if (!volume || !claim) throw new Error(`binding volumes: "${name}" or its claim is gone`);
    if (replaced.has(volume.metadata.resourceVersion)) isDone = false;
    else if (!volume.spec?.claimRef?.uid) {
      throw new Error(`binding volumes: ClaimRef got reset for pv "${name}"`);
    } else isDone &&= isFullyBound(claim);
  }
  for (const planned of provisions) {
    const { name } = planned.metadata;
    const claim = objects.claim(keyOf(planned));
    if (!claim) throw new Error(`binding volumes: persistentvolumeclaim "${name}" not found`);
    if (replaced.has(claim.metadata.resourceVersion)) {
      isDone = false;
      continue;
    }
    if (claim.metadata.annotations?.[selectedNodeAnnotation] !== nodeName) {
      // The provisioner removes the annotation when it cannot provision on the node.
      throw new Error(`binding volumes: provisioning failed for PVC "${name}"`);
    }
    const volume = claim.spec?.volumeName ? objects.volume(claim.spec.volumeName) : undefined;
    if (volume && !isReachable(volume, labels)) {
      throw new Error(
        `binding volumes: pv "${volume.metadata.name}" node affinity doesn't match node "${nodeName}"`,
      );
    }
    isDone &&= isFullyBound(claim);
  }
  return isDone;
}

/** API objects overlaid with the volume bindings that are in progress. */
export interface AssumedVolumes {
  readonly objects: ApiObjects;
  /** Adds a plan to the overlay. Returns a function that removes it. */
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

/** Sets the selected-node annotation, which requests provisioning on that node. */
function withNode(claim: PersistentVolumeClaim, nodeName: string): PersistentVolumeClaim {
  const { annotations } = claim.metadata;
  if (annotations?.[selectedNodeAnnotation] === nodeName) return claim;
  return {
    ...claim,
    metadata: { ...claim.metadata, annotations: { ...annotations, [selectedNodeAnnotation]: nodeName } },
  };
}

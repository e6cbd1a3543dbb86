import { holdFor, selectedNodeAnnotation } from "../../api/volume-binding.ts";
import type { Client } from "../../client/client.ts";
import { keyOf } from "../../client/object-key.ts";
import type { Clock } from "../../lib/clock.ts";
import type { WakeUp } from "../../lib/wake-up.ts";
import type { NodeInfo } from "../node-info.ts";
import type { ApiObjects } from "../snapshot.ts";
import { withNode } from "./assumed-volumes.ts";
import { isFullyBound } from "./claim-facts.ts";
import { isReachable } from "./find-volume.ts";
import type { VolumePlan } from "./plan-volumes.ts";

export interface BindVolumesDeps {
  readonly client: Pick<Client, "update">;
  /** As the API has them, without what is only assumed. */
  readonly objects: ApiObjects;
  node(name: string): NodeInfo | undefined;
  /** Wakes when a claim or a volume changes. */
  readonly changes: WakeUp;
  readonly clock: Clock;
}

/** As long as upstream waits for volumes. */
const timeoutMs = 600_000;

/** Claims and volumes whose old versions are no answer any more. */
type Written = ReadonlySet<string | undefined>;

/** Writes a plan; answers with the versions that it replaced. */
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

/** Until every claim of a plan is bound. Throws when that can no longer be. */
export async function awaitVolumes(
  deps: BindVolumesDeps,
  plan: VolumePlan,
  given: { nodeName: string; replaced: Written; signal: AbortSignal },
): Promise<void> {
  const { clock, changes } = deps;
  const deadline = clock.now() + timeoutMs;
  for (;;) {
    const change = changes.next();
    if (areBound(deps, plan, given)) return;
    if (clock.now() >= deadline) throw new Error("binding volumes: context deadline exceeded");
    await change.orAt(deadline, { clock, signal: given.signal });
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
      // Whoever makes the volume could not do it there, and asks for another node.
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

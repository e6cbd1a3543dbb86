import { controllerOf } from "../../api/controller-reference.ts";
import type { PersistentVolumeClaim, Pod, StatefulSet } from "../../api/objects.ts";
import type { Expectations } from "../../client/expectations.ts";
import type { Change } from "../../client/informer.ts";
import { keyOf } from "../../client/object-key.ts";
import type { WorkQueue } from "../../client/work-queue.ts";
import type { Informers } from "../informers.ts";
import { ownerOf } from "../owner-of.ts";
import { selects } from "../selects.ts";
import { isMemberOf } from "./pod-identity.ts";

interface WatchDeps {
  readonly informers: Informers;
  readonly expectations: Pick<Expectations, "creationObserved" | "deletionObserved">;
}

/** Which sets a change of a set, a pod or a claim concerns. */
export function watchStatefulSets(
  { informers, expectations }: WatchDeps,
  queue: Pick<WorkQueue, "add">,
): void {
  const sets = informers.of("statefulsets");
  sets.onChange(({ object }) => queue.add(keyOf(object)));

  informers.of("pods").onChange((change) => {
    for (const pod of podsOf(change)) {
      for (const key of keysOfPod(pod)) {
        observe(key, change);
        queue.add(key);
      }
    }
  });

  informers.of("persistentvolumeclaims").onChange((change) => {
    // A set may wait for a claim to go before it can have it made anew.
    if (change.kind !== "deleted") return;
    for (const set of setsOfClaim(change.object)) queue.add(keyOf(set));
  });

  function keysOfPod(pod: Pod): readonly string[] {
    const owner = ownerOf(pod, "StatefulSet", sets);
    if (owner) return [keyOf(owner)];
    if (controllerOf(pod)) return [];
    return sets
      .byIndex("namespace", pod.metadata.namespace ?? "")
      .filter((set) => isMemberOf(set, pod) && selects(set, pod))
      .map(keyOf);
  }

  function observe(key: string, { kind, object }: Change<Pod>): void {
    if (kind === "added") expectations.creationObserved(key);
    if (kind === "deleted" || object.metadata.deletionTimestamp) {
      expectations.deletionObserved(key, object.metadata.uid ?? "");
    }
  }

  function setsOfClaim({ metadata: { name = "", namespace = "" } }: PersistentVolumeClaim) {
    const prefixes = ({ metadata, spec }: StatefulSet) =>
      spec?.volumeClaimTemplates?.map((template) => `${template.metadata?.name}-${metadata.name}-`) ?? [];
    return sets
      .byIndex("namespace", namespace)
      .filter((set) => prefixes(set).some((prefix) => name.startsWith(prefix)));
  }
}

/** A pod that changes hands concerns both. */
function podsOf(change: Change<Pod>): readonly Pod[] {
  if (change.kind !== "changed") return [change.object];
  const [before, now] = [controllerOf(change.previous)?.uid, controllerOf(change.object)?.uid];
  return before === now ? [change.object] : [change.previous, change.object];
}

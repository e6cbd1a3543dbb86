import { controllerOf } from "../../api/meta/object-facts.ts";
import type { PersistentVolumeClaim, Pod, StatefulSet } from "../../api/meta/objects.ts";
import type { Change } from "../../client/informers/informer.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { Expectations } from "../../client/queue/expectations.ts";
import type { WorkQueue } from "../../client/queue/work-queue.ts";
import type { Informers } from "../shared/informers.ts";
import { ownerOf, selects } from "../shared/ownership.ts";
import { isMemberOf } from "./pod-identity.ts";

interface WatchDeps {
  readonly informers: Informers;
  readonly expectations: Pick<Expectations, "creationObserved" | "deletionObserved">;
}

/** Registers informer handlers that add the sets affected by a change of a set, pod or claim. */
export function watchStatefulSets(
  { informers, expectations }: WatchDeps,
  queue: Pick<WorkQueue, "add">,
): void {
  const sets = informers.of("statefulsets");
  sets.onChange(({ object }) => queue.add(keyOf(object)));

  informers.of("pods").onChange((change) => {
    for (const pod of affectedPods(change)) {
      for (const key of keysOfPod(pod)) {
        observe(key, change);
        queue.add(key);
      }
    }
  });

  informers.of("persistentvolumeclaims").onChange((change) => {
    // A set may wait for the deletion of a claim before it can recreate it.
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

/** A changed owner affects the previous owner too. */
function affectedPods(change: Change<Pod>): readonly Pod[] {
  if (change.kind !== "changed") return [change.object];
  const [before, now] = [controllerOf(change.previous)?.uid, controllerOf(change.object)?.uid];
  return before === now ? [change.object] : [change.previous, change.object];
}

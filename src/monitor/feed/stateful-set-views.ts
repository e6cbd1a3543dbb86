import type { Pod, StatefulSet } from "../../api/objects.ts";
import { keyOf } from "../../client/object-key.ts";
import type { Logger } from "../../lib/logger.ts";
import { explainPod } from "../explain/explain-pod.ts";
import type { Monitor, StartingPod } from "../monitor.ts";
import { viewStatefulSet } from "./view/view-stateful-set.ts";
import { createViewTable, type ViewTable } from "./view-table.ts";

export interface StatefulSetViews extends Pick<ViewTable, "takeChanges" | "texts"> {
  lookAgain(key: string): void;
  /** Brings up to date what is to be looked at again, and now and then everything: time alone can hold a rollout up. */
  update(now: number): void;
  clear(): void;
}

interface StatefulSetViewsDeps {
  readonly monitor: Pick<Monitor, "podsOf">;
  readonly sets: { get(key: string): StatefulSet | undefined; list(): Iterable<StatefulSet> };
  readonly logger: Logger;
  findStarting(uid: string): StartingPod | undefined;
}

/** Of all sets; longer when there are many, so that looking stays cheap. */
const everyMs = 2_000;
const everyMsForEach = 2;

export function createStatefulSetViews(deps: StatefulSetViewsDeps): StatefulSetViews {
  const table = createViewTable();
  const dirty = new Set<string>();
  let nextAllMs = 0;

  function look(set: StatefulSet, now: number): void {
    const explain = (pod: Pod) => {
      const events = deps.findStarting(pod.metadata.uid ?? "")?.events ?? [];
      return explainPod({ pod, events, pulls: [], budgets: [], advice: [], now }).because;
    };
    const pods = deps.monitor.podsOf(set.metadata.uid ?? "");
    try {
      table.set(keyOf(set), viewStatefulSet({ set, pods, explain, now }));
    } catch (error) {
      // One set that is not as sets are must not keep the others from being shown.
      deps.logger.warn("a StatefulSet cannot be shown", { set: keyOf(set), error });
    }
  }

  return {
    lookAgain: (key) => void dirty.add(key),
    update(now) {
      for (const key of dirty) {
        const set = deps.sets.get(key);
        if (set) look(set, now);
        else table.delete(key);
      }
      dirty.clear();
      if (now < nextAllMs) return;
      for (const set of deps.sets.list()) look(set, now);
      nextAllMs = now + Math.max(everyMs, table.size() * everyMsForEach);
    },
    takeChanges: table.takeChanges,
    texts: table.texts,
    clear() {
      table.clear();
      dirty.clear();
      nextAllMs = 0;
    },
  };
}

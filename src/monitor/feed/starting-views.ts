import type { Pod } from "../../api/objects.ts";
import type { Logger } from "../../lib/logger.ts";
import type { StartingChange, StartingPod } from "../monitor.ts";
import type { PodView } from "./feed-message.ts";
import type { KubeletAnswer, KubeletAnswers, Question } from "./kubelet-answers.ts";
import { viewPod } from "./view/view-pod.ts";
import { containersInStartup } from "./view/view-probes.ts";
import { createViewTable, type ViewChanges } from "./view-table.ts";

/** Views of the pods that start now, worked out anew for those that changed. */
export interface StartingViews {
  notice(change: StartingChange): void;
  /** Something else is known of the pod. */
  lookAgain(uid: string): void;
  /** Begins with these, and nothing else. */
  reset(pods: Iterable<StartingPod>): void;
  /** Brings views up to date, at most so many; whether some are left. */
  update(now: number, most: number): boolean;
  takeChanges(): ViewChanges;
  texts(): Iterable<string>;
  find(uid: string): StartingPod | undefined;
  /** Also of those that are not shown. */
  count(): number;
}

interface StartingViewsOptions {
  readonly answers: Pick<KubeletAnswers, "of" | "want">;
  readonly logger: Logger;
  /** How many are shown; others take the place of those that start no more. */
  readonly capacity: number;
}

export function createStartingViews({ answers, logger, capacity }: StartingViewsOptions): StartingViews {
  const pods = new Map<string, StartingPod>();
  const table = createViewTable();
  const shown = new Set<string>();
  /** There is no room for them. */
  const hidden = new Set<string>();
  /** Shown, and to be looked at again. */
  const dirty = new Set<string>();

  function show(uid: string): void {
    shown.add(uid);
    dirty.add(uid);
  }

  function changed(starting: StartingPod): void {
    const { uid } = starting.start.pod;
    pods.set(uid, starting);
    if (shown.has(uid) || shown.size < capacity) show(uid);
    else hidden.add(uid);
  }

  function gone(uid: string): void {
    pods.delete(uid);
    hidden.delete(uid);
    if (!shown.delete(uid)) return;
    dirty.delete(uid);
    table.delete(uid);
    answers.want(uid, undefined);
    const [next] = hidden;
    if (next === undefined) return;
    hidden.delete(next);
    show(next);
  }

  function look(starting: StartingPod, now: number): void {
    const { pod, events, start } = starting;
    const { uid } = start.pod;
    const view = viewPod({ pod, events, ...answersFor(pod, answers.of(uid)), now });
    table.set(uid, view);
    answers.want(uid, questionFor(pod, view));
  }

  return {
    notice: (change) => (change.kind === "changed" ? changed(change.starting) : gone(change.uid)),
    lookAgain: (uid) => void (shown.has(uid) && dirty.add(uid)),
    reset(all) {
      table.clear();
      for (const each of [pods, shown, hidden, dirty]) each.clear();
      for (const starting of all) changed(starting);
    },
    update(now, most) {
      let left = most;
      for (const uid of dirty) {
        if (left-- === 0) return true;
        dirty.delete(uid);
        const starting = pods.get(uid);
        if (!starting) continue;
        try {
          look(starting, now);
        } catch (error) {
          // One pod that is not as pods are must not keep the others from being shown.
          logger.warn("a pod cannot be shown", { pod: starting.start.pod, error });
        }
      }
      return false;
    },
    takeChanges: table.takeChanges,
    texts: table.texts,
    find: (uid) => pods.get(uid),
    count: () => pods.size,
  };
}

/** A container that waits may be waiting for its image. */
function hasWaiting({ spec, status }: Pod): boolean {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const expected = (spec?.initContainers?.length ?? 0) + (spec?.containers.length ?? 0);
  return statuses.length < expected || statuses.some(({ state }) => !state || state.waiting);
}

/** What a kubelet said of a stage that is over is left out. */
function answersFor(pod: Pod, answer: KubeletAnswer): KubeletAnswer {
  return hasWaiting(pod) ? answer : { ...answer, pulls: [] };
}

const stagesWithPulls: ReadonlySet<PodView["stage"]> = new Set([
  "pulling",
  "creating",
  "starting",
  "readiness",
]);

/** What to ask the pod's kubelet for now, if anything. */
function questionFor(pod: Pod, { uid, namespace, name, stage }: PodView): Question | undefined {
  const node = pod.spec?.nodeName;
  if (!node) return undefined;
  const about = new Set<"pulls" | "budgets">();
  if (stagesWithPulls.has(stage) && hasWaiting(pod)) about.add("pulls");
  if (containersInStartup(pod).length > 0) about.add("budgets");
  return about.size > 0 ? { uid, namespace, name, node, about } : undefined;
}

import { defaultPodTemplate } from "../../api/defaults/pod-template.ts";
import { isEqual } from "../../api/is-equal.ts";
import type { ControllerRevision, Pod, StatefulSet } from "../../api/objects.ts";
import { revisionOf } from "./pod-identity.ts";
import { newRevision, revisionText, templateOf, templateText } from "./revision-data.ts";

export type UpdateRevision =
  | { readonly kind: "keep"; readonly revision: ControllerRevision }
  /** The template is an older one again: that revision becomes the newest. */
  | { readonly kind: "renumber"; readonly revision: ControllerRevision; readonly to: number }
  | { readonly kind: "create"; readonly revision: ControllerRevision };

export function sortRevisions(revisions: readonly ControllerRevision[]): readonly ControllerRevision[] {
  return [...revisions].sort(
    (a, b) =>
      a.revision - b.revision ||
      compare(a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? "") ||
      compare(a.metadata.name ?? "", b.metadata.name ?? ""),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The revision of what the set asks for now. */
export function decideUpdateRevision(
  set: StatefulSet,
  sorted: readonly ControllerRevision[],
  collisionCount: number,
): UpdateRevision {
  const text = templateText(set);
  const latest = sorted.at(-1);
  if (latest && revisionText(latest) === text) return { kind: "keep", revision: latest };
  const to = (latest?.revision ?? 0) + 1;
  const equal = sorted.findLast((revision) => revisionText(revision) === text);
  if (equal) return { kind: "renumber", revision: equal, to };
  if (latest && meansTheSame(set, latest)) return { kind: "keep", revision: latest };
  return { kind: "create", revision: newRevision(set, { revision: to, collisionCount }) };
}

/** A server that fills in a new default must not roll every set. */
function meansTheSame(set: StatefulSet, revision: ControllerRevision): boolean {
  const template = structuredClone(templateOf(revision));
  defaultPodTemplate(template);
  return isEqual(template, set.spec?.template);
}

/** Revisions that nobody uses, but for the newest of them that the set's history keeps. */
export function revisionsToForget(
  set: StatefulSet,
  sorted: readonly ControllerRevision[],
  used: { readonly pods: readonly Pod[]; readonly names: readonly string[] },
): readonly ControllerRevision[] {
  const limit = set.spec?.revisionHistoryLimit ?? 10;
  if (limit < 0) return [];
  const live = new Set([...used.names, ...used.pods.map(revisionOf)]);
  const history = sorted.filter(({ metadata }) => !live.has(metadata.name ?? ""));
  return history.slice(0, Math.max(0, history.length - limit));
}

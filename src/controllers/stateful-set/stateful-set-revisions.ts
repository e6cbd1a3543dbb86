import { isEqual } from "../../api/meta/is-equal.ts";
import { controllerReference } from "../../api/meta/object-facts.ts";
import type { ControllerRevision, Pod, StatefulSet } from "../../api/meta/objects.ts";
import { labelSelectorOf, matchesLabels } from "../../api/meta/selector.ts";
import { defaultPodTemplate } from "../../api/pod/defaults/pod.ts";
import type { Client } from "../../client/api/client.ts";
import { isAlreadyExists } from "../../client/transport/status-errors.ts";
import { type Informers, orphanedIn } from "../shared/informers.ts";
import { claimObjects, decideClaim } from "../shared/ownership.ts";
import {
  hashOf,
  revisionName,
  revisionText,
  sortRevisions,
  templateOf,
  templateText,
} from "../shared/revision-data.ts";
import { type Revision, revisionOf } from "./pod-identity.ts";
import { updateRecordAnnotation } from "./update-record.ts";

export interface Revisions {
  /** Oldest first. */
  readonly all: readonly ControllerRevision[];
  readonly current: Revision;
  readonly update: Revision;
  readonly collisionCount: number;
}

interface RevisionDeps {
  readonly client: Client;
  readonly informers: Informers;
}

/** Returns the revisions of a set after creating or renumbering the one of its template. */
export async function ensureRevisions(
  deps: RevisionDeps,
  set: StatefulSet,
  signal: AbortSignal,
): Promise<Revisions> {
  const all = sortRevisions(await ownRevisions(deps, set, signal));
  const before = set.status?.collisionCount ?? 0;
  const { update, collisionCount } = await ensureUpdateRevision(deps.client, { set, all, before }, signal);
  const current = all.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update;
  return { all, current: toRevision(current), update: toRevision(update), collisionCount };
}

async function ownRevisions({ client, informers }: RevisionDeps, set: StatefulSet, signal: AbortSignal) {
  const informer = informers.of("controllerrevisions");
  const { namespace = "", uid = "" } = set.metadata;
  const selector = labelSelectorOf(set.spec?.selector) ?? [];
  const seen = [
    ...informer.byIndex("controller", uid),
    ...informer.byIndex("controller", orphanedIn(namespace)),
  ];
  const matching = seen.filter(({ metadata }) => matchesLabels(selector, metadata.labels));
  const claim = decideClaim(set, matching, () => true);
  const resource = "controllerrevisions";
  return claimObjects({ client, resource, ownerResource: "statefulsets", owner: set, claim, signal });
}

async function ensureUpdateRevision(
  client: Client,
  { set, all, before }: { set: StatefulSet; all: readonly ControllerRevision[]; before: number },
  signal: AbortSignal,
): Promise<{ update: ControllerRevision; collisionCount: number }> {
  const decision = decideUpdateRevision(set, all, before);
  switch (decision.kind) {
    case "keep":
      return { update: decision.revision, collisionCount: before };
    case "renumber": {
      const renumbered = { ...decision.revision, revision: decision.to };
      const update = await client.update("controllerrevisions", renumbered, { signal });
      return { update, collisionCount: before };
    }
    case "create":
      return createRevision(client, { set, revision: decision.revision, before }, signal);
  }
}

/** Increases collisionCount while another revision has the name. */
async function createRevision(
  client: Client,
  { set, revision, before }: { set: StatefulSet; revision: ControllerRevision; before: number },
  signal: AbortSignal,
): Promise<{ update: ControllerRevision; collisionCount: number }> {
  for (let collisionCount = before; ; collisionCount++) {
    const { name = "" } = newRevision(set, { ...revision, collisionCount }).metadata;
    const named = { ...revision, metadata: { ...revision.metadata, name } };
    try {
      return { update: await client.create("controllerrevisions", named, { signal }), collisionCount };
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const { namespace } = set.metadata;
    const existing = await client.get("controllerrevisions", { namespace, name }, { signal });
    // Created by an earlier process that did not record it.
    if (revisionText(existing) === templateText(set)) return { update: existing, collisionCount };
  }
}

function toRevision(revision: ControllerRevision): Revision {
  const { metadata, revision: number } = revision;
  return { name: metadata.name ?? "", number, template: templateOf(revision) };
}

export type UpdateRevision =
  | { readonly kind: "keep"; readonly revision: ControllerRevision }
  /** The template equals that of an older revision, which becomes the newest. */
  | { readonly kind: "renumber"; readonly revision: ControllerRevision; readonly to: number }
  | { readonly kind: "create"; readonly revision: ControllerRevision };

/** Decides which revision the set's template has. */
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
  if (latest && isEqualWithDefaults(set, latest)) return { kind: "keep", revision: latest };
  return { kind: "create", revision: newRevision(set, { revision: to, collisionCount }) };
}

/** A server upgrade that adds a default must not roll out every set. */
function isEqualWithDefaults(set: StatefulSet, revision: ControllerRevision): boolean {
  const template = structuredClone(templateOf(revision));
  defaultPodTemplate(template);
  return isEqual(template, set.spec?.template);
}

/** Unused revisions beyond the history limit, oldest first. */
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

const hashLabel = "controller.kubernetes.io/hash";
export function newRevision(
  set: StatefulSet,
  { revision, collisionCount }: { readonly revision: number; readonly collisionCount: number },
): ControllerRevision {
  const hash = hashOf(templateText(set), collisionCount);
  const { name = "", namespace } = set.metadata;
  const { [updateRecordAnnotation]: _, ...annotations } = set.metadata.annotations ?? {};
  return {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      name: revisionName(name, hash),
      namespace,
      labels: { ...set.spec?.template.metadata?.labels, [hashLabel]: hash },
      ...(set.metadata.annotations && { annotations }),
      ownerReferences: [controllerReference(set)],
    },
    // Keys in the order in which they were hashed, so that the stored bytes are the hashed ones.
    data: JSON.parse(templateText(set)),
    revision,
  };
}

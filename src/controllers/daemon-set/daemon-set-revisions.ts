import { controllerReference } from "../../api/meta/object-facts.ts";
import type { ControllerRevision, DaemonSet, Pod } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import type { Informer } from "../../client/informers/informer.ts";
import { isAlreadyExists, isNotFound } from "../../client/transport/status-errors.ts";
import { orphanedIn } from "../shared/informers.ts";
import { claimObjects, decideClaim, selects } from "../shared/ownership.ts";
import { hashOf, revisionName, revisionText, sortRevisions, templateText } from "../shared/revision-data.ts";
import { hashLabel } from "./daemon-pod.ts";

const resource = "controllerrevisions";

interface RevisionDeps {
  readonly client: Client;
  readonly revisions: Informer<ControllerRevision>;
}

interface CurrentRevision {
  /** Hash of the current template. */
  readonly hash: string;
  /** Revisions of earlier templates, oldest first. */
  readonly old: readonly ControllerRevision[];
  readonly collisionCount: number | undefined;
}

/** Returns the revision of a set's template after creating or renumbering it. */
export async function ensureRevision(
  { client, revisions }: RevisionDeps,
  { set, pods }: { readonly set: DaemonSet; readonly pods: readonly Pod[] },
  signal: AbortSignal,
): Promise<CurrentRevision> {
  const { namespace = "", uid = "" } = set.metadata;
  const candidates = [uid, orphanedIn(namespace)].flatMap((value) => revisions.byIndex("controller", value));
  const claim = decideClaim(set, candidates, (revision) => selects(set, revision));
  const owned = await claimObjects({
    client,
    resource,
    ownerResource: "daemonsets",
    owner: set,
    claim,
    signal,
  });
  const decision = decideRevision(set, owned);
  const { old, number } = decision;
  if (!decision.current) {
    const { revision, collisionCount } = await createRevision(client, { set, number }, signal);
    return { hash: hashOfRevision(revision), old, collisionCount };
  }
  const { current, duplicates } = decision;
  const hash = hashOfRevision(current);
  await removeDuplicates(client, { duplicates, hash, pods }, signal);
  if (current.revision < number) await client.update(resource, { ...current, revision: number }, { signal });
  return { hash, old, collisionCount: set.status?.collisionCount };
}

interface RevisionDecision {
  /** Undefined if the template has no revision yet. */
  readonly current: ControllerRevision | undefined;
  /** Other revisions of the same template. */
  readonly duplicates: readonly ControllerRevision[];
  readonly old: readonly ControllerRevision[];
  /** Number of the current revision. A template that is used again becomes the newest. */
  readonly number: number;
}

export function decideRevision(set: DaemonSet, owned: readonly ControllerRevision[]): RevisionDecision {
  const text = templateText(set);
  const sorted = sortRevisions(owned);
  const matching = sorted.filter((revision) => revisionText(revision) === text);
  const old = sorted.filter((revision) => revisionText(revision) !== text);
  return {
    current: matching.at(-1),
    duplicates: matching.slice(0, -1),
    old,
    number: (old.at(-1)?.revision ?? 0) + 1,
  };
}

/** Increases collisionCount while a revision of another template has the name. */
async function createRevision(
  client: Client,
  { set, number }: { readonly set: DaemonSet; readonly number: number },
  signal: AbortSignal,
): Promise<{ revision: ControllerRevision; collisionCount: number | undefined }> {
  for (let collisionCount = set.status?.collisionCount; ; collisionCount = (collisionCount ?? 0) + 1) {
    const planned = newRevision(set, { number, collisionCount });
    const { namespace, name = "" } = planned.metadata;
    try {
      return { revision: await client.create(resource, planned, { signal }), collisionCount };
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const existing = await client.get(resource, { namespace, name }, { signal });
    // Created by an earlier sync whose write the informer has not delivered.
    if (revisionText(existing) === templateText(set)) return { revision: existing, collisionCount };
  }
}

export function newRevision(
  set: DaemonSet,
  { number, collisionCount = 0 }: { readonly number: number; readonly collisionCount: number | undefined },
): ControllerRevision {
  const { name = "", namespace, annotations } = set.metadata;
  const hash = hashOf(templateText(set), collisionCount);
  return {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      name: revisionName(name, hash),
      namespace,
      labels: { ...set.spec?.template.metadata?.labels, [hashLabel]: hash },
      ...(annotations && { annotations }),
      ownerReferences: [controllerReference(set)],
    },
    data: JSON.parse(templateText(set)),
    revision: number,
  };
}

function hashOfRevision({ metadata }: ControllerRevision): string {
  return metadata.labels?.[hashLabel] ?? metadata.name ?? "";
}

/** Pods of a duplicate are labeled first, so that they are not replaced. */
async function removeDuplicates(
  client: Client,
  options: {
    readonly duplicates: readonly ControllerRevision[];
    readonly hash: string;
    readonly pods: readonly Pod[];
  },
  signal: AbortSignal,
): Promise<void> {
  const { duplicates, hash, pods } = options;
  const hashes = new Set(duplicates.map(hashOfRevision));
  hashes.delete(hash);
  for (const { metadata } of pods) {
    if (!hashes.has(metadata.labels?.[hashLabel] ?? "")) continue;
    const { namespace, name = "", uid } = metadata;
    const body = { metadata: { uid, labels: { [hashLabel]: hash } } };
    await client.patch("pods", { namespace, name }, { patch: { kind: "strategic", body }, signal });
  }
  await deleteRevisions(client, duplicates, signal);
}

export async function deleteRevisions(
  client: Client,
  revisions: readonly ControllerRevision[],
  signal: AbortSignal,
): Promise<void> {
  for (const { metadata } of revisions) {
    const { namespace, name = "", uid } = metadata;
    try {
      await client.delete(resource, { namespace, name }, { preconditions: { uid }, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** Old revisions beyond the history limit that no pod uses, oldest first. */
export function revisionsToForget(
  { spec }: DaemonSet,
  old: readonly ControllerRevision[],
  pods: readonly Pod[],
): readonly ControllerRevision[] {
  const excess = Math.max(0, old.length - (spec?.revisionHistoryLimit ?? 10));
  const live = new Set(pods.map(({ metadata }) => metadata.labels?.[hashLabel]));
  return old.filter((revision) => !live.has(hashOfRevision(revision))).slice(0, excess);
}

import { isEqual } from "../../api/meta/is-equal.ts";
import { controllerReference } from "../../api/meta/object-facts.ts";
import type { ControllerRevision, Pod, StatefulSet } from "../../api/meta/objects.ts";
import { labelSelectorOf, matchesLabels } from "../../api/meta/selector.ts";
import { defaultPodTemplate, type PodTemplate } from "../../api/pod/defaults/pod.ts";
import type { Client } from "../../client/api/client.ts";
import { isAlreadyExists } from "../../client/transport/status-errors.ts";
import { type Informers, orphanedIn } from "../shared/informers.ts";
import { claimObjects, decideClaim } from "../shared/ownership.ts";
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
const maxPrefixLength = 223;

/** Data of a revision: a patch that restores the set's template. */
function dataOf(template: PodTemplate | undefined) {
  return { spec: { template: { ...template, $patch: "replace" } } };
}

/** Serialized data by object. Objects of informers are immutable, so each is serialized once. */
const serialized = new WeakMap<object, string>();

/** Data of a revision, serialized as upstream does. Revisions are equal if their data is. */
export function revisionText(revision: ControllerRevision): string {
  return memoized(revision, () => canonicalJson(revision.data));
}

export function templateText(set: StatefulSet): string {
  return memoized(set, () => canonicalJson(dataOf(set.spec?.template)));
}

function memoized(object: object, serialize: () => string): string {
  let text = serialized.get(object);
  if (text === undefined) {
    text = serialize();
    serialized.set(object, text);
  }
  return text;
}

/** Template stored in a revision. */
export function templateOf({ data }: ControllerRevision): PodTemplate {
  const { spec } = (data ?? {}) as { spec?: { template?: PodTemplate & { $patch?: string } } };
  const { $patch: _, ...template } = spec?.template ?? {};
  return template;
}

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

function revisionName(prefix: string, hash: string): string {
  return `${prefix.slice(0, maxPrefixLength)}-${hash}`;
}

/** Upstream's hash: 32-bit FNV-1, encoded with an alphabet that cannot form words. */
function hashOf(text: string, collisionCount: number): string {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text + collisionCount)) hash = Math.imul(hash, 0x01000193) ^ byte;
  const letters = "bcdfghjklmnpqrstvwxz2456789";
  return [...String(hash >>> 0)].map((digit) => letters[digit.charCodeAt(0) % letters.length]).join("");
}

/** JSON as Go's encoder writes a map: sorted keys, HTML characters escaped. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return escaped(JSON.stringify(value ?? null));
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${escaped(JSON.stringify(key))}:${canonicalJson(field)}`);
  return `{${fields.join(",")}}`;
}

function escaped(json: string): string {
  return json.replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

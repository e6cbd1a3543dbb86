import type { ControllerRevision } from "../../api/meta/objects.ts";
import type { PodTemplate } from "../../api/pod/defaults/pod.ts";

/** A workload whose pod template has revisions. */
interface Templated {
  readonly spec?: { readonly template: PodTemplate };
}

/** Sorts revisions, oldest first. */
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

const maxPrefixLength = 223;

/** Data of a revision: a patch that restores the owner's template. */
function dataOf(template: PodTemplate | undefined) {
  return { spec: { template: { ...template, $patch: "replace" } } };
}

/** Serialized data by object. Objects of informers are immutable, so each is serialized once. */
const serialized = new WeakMap<object, string>();

/** Data of a revision, serialized as upstream does. Revisions are equal if their data is. */
export function revisionText(revision: ControllerRevision): string {
  return memoized(revision, () => canonicalJson(revision.data));
}

/** Data of the revision of an owner's template. */
export function templateText(owner: Templated): string {
  return memoized(owner, () => canonicalJson(dataOf(owner.spec?.template)));
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

/** Name of a revision: the name of its owner and its hash. */
export function revisionName(prefix: string, hash: string): string {
  return `${prefix.slice(0, maxPrefixLength)}-${hash}`;
}

/** Upstream's hash: 32-bit FNV-1, encoded with an alphabet that cannot form words. */
export function hashOf(text: string, collisionCount: number): string {
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

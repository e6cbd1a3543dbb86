import { controllerReference } from "../../api/controller-reference.ts";
import type { PodTemplate } from "../../api/defaults/pod-template.ts";
import type { ControllerRevision, StatefulSet } from "../../api/objects.ts";

const hashLabel = "controller.kubernetes.io/hash";
const longestPrefix = 223;

/** What a revision keeps of a set: a patch that gives it back its template. */
function dataOf(template: PodTemplate | undefined) {
  return { spec: { template: { ...template, $patch: "replace" } } };
}

/** Objects out of informers stay the same object while they are the same: each is written out once. */
const written = new WeakMap<object, string>();

/** The data of a revision as upstream writes it: two revisions are equal when these are. */
export function revisionText(revision: ControllerRevision): string {
  return remembered(revision, () => canonicalJson(revision.data));
}

export function templateText(set: StatefulSet): string {
  return remembered(set, () => canonicalJson(dataOf(set.spec?.template)));
}

function remembered(object: object, write: () => string): string {
  let text = written.get(object);
  if (text === undefined) {
    text = write();
    written.set(object, text);
  }
  return text;
}

/** The template that a revision keeps. */
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
  const { name = "", namespace, annotations } = set.metadata;
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
    // Keys in the order in which they were hashed: whoever compares bytes finds the same ones.
    data: JSON.parse(templateText(set)),
    revision,
  };
}

function revisionName(prefix: string, hash: string): string {
  return `${prefix.slice(0, longestPrefix)}-${hash}`;
}

/** FNV-1, 32 bits, in letters that spell nothing: upstream's. */
function hashOf(text: string, collisionCount: number): string {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text + collisionCount)) hash = Math.imul(hash, 0x01000193) ^ byte;
  const letters = "bcdfghjklmnpqrstvwxz2456789";
  return [...String(hash >>> 0)].map((digit) => letters[digit.charCodeAt(0) % letters.length]).join("");
}

/** JSON as Go writes a map: keys sorted, and what HTML would mind escaped. */
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

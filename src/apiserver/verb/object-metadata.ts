import { randomUUID } from "node:crypto";
import { formatTime } from "../../api/format-time.ts";
import type { KubeObject, ObjectMeta } from "../../api/objects.ts";

/** What the server alone decides about a new object's metadata. */
export function stampNewObject(object: KubeObject, options: { namespace: string; now: number }): void {
  const { metadata } = object;
  if (!metadata.name && metadata.generateName) metadata.name = generateName(metadata.generateName);
  if (options.namespace) metadata.namespace = options.namespace;
  else delete metadata.namespace;
  metadata.uid = randomUUID();
  metadata.creationTimestamp = formatTime(options.now);
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.selfLink;
  delete metadata.managedFields;
}

/** What an update may not touch: those fields come from the stored object. */
export function keepServerMetadata(next: KubeObject, current: KubeObject): void {
  for (const field of serverFields) keepField(next.metadata, current.metadata, field);
  delete next.metadata.selfLink;
  delete next.metadata.managedFields;
}

const serverFields = [
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "generation",
] as const;

function keepField<K extends keyof ObjectMeta>(next: ObjectMeta, current: ObjectMeta, field: K): void {
  if (current[field] === undefined) delete next[field];
  else next[field] = current[field];
}

/** Letters and digits that cannot spell a word and are not mistaken for each other. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const maxNameLength = 63;

/** The prefix with five random characters, cut so that the whole is a DNS label. */
function generateName(prefix: string): string {
  return prefix.slice(0, maxNameLength - suffixLength) + randomSuffix();
}

/** Tells objects apart, keeps no secret. */
export function randomSuffix(): string {
  let suffix = "";
  for (let i = 0; i < suffixLength; i++) suffix += alphabet[Math.floor(Math.random() * alphabet.length)];
  return suffix;
}

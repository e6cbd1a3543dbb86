import { randomUUID } from "node:crypto";
import { formatTime } from "../../api/format-time.ts";
import type { KubeObject } from "../../api/objects.ts";

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
  const { metadata } = next;
  const { creationTimestamp, generation, deletionTimestamp, deletionGracePeriodSeconds } = current.metadata;
  metadata.creationTimestamp = creationTimestamp;
  if (generation !== undefined) metadata.generation = generation;
  else if (metadata.generation !== undefined) delete metadata.generation;
  // A delete is never taken back; one that an update pretends is refused by the checks.
  if (deletionTimestamp !== undefined) metadata.deletionTimestamp = deletionTimestamp;
  if (deletionGracePeriodSeconds !== undefined)
    metadata.deletionGracePeriodSeconds = deletionGracePeriodSeconds;
  delete metadata.selfLink;
  delete metadata.managedFields;
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

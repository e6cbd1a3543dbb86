import { randomUUID } from "node:crypto";
import type { KubeObject } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";

/** Sets the metadata of a new object that only the server may set. */
export function setServerMetadata(object: KubeObject, options: { namespace: string; now: number }): void {
  const { metadata } = object;
  if (!metadata.name && metadata.generateName) metadata.name = generateName(metadata.generateName);
  if (options.namespace) metadata.namespace = options.namespace;
  else delete metadata.namespace;
  metadata.uid = randomUUID();
  metadata.creationTimestamp = formatTime(options.now);
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.selfLink;
}

/** Keeps the metadata that an update must not change. */
export function keepServerMetadata(next: KubeObject, current: KubeObject): void {
  const { metadata } = next;
  const { creationTimestamp, generation, deletionTimestamp, deletionGracePeriodSeconds } = current.metadata;
  metadata.creationTimestamp = creationTimestamp;
  if (generation !== undefined) metadata.generation = generation;
  else if (metadata.generation !== undefined) delete metadata.generation;
  // A deletion cannot be undone. Validation rejects an update that sets a deletionTimestamp.
  if (deletionTimestamp !== undefined) metadata.deletionTimestamp = deletionTimestamp;
  if (deletionGracePeriodSeconds !== undefined)
    metadata.deletionGracePeriodSeconds = deletionGracePeriodSeconds;
  delete metadata.selfLink;
}

/** Letters and digits that form no words and are not confused with each other, as upstream. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const maxNameLength = 63;

/** The prefix with five random characters, truncated to the length of a DNS label. */
function generateName(prefix: string): string {
  return prefix.slice(0, maxNameLength - suffixLength) + randomSuffix();
}

/** Random characters for unique names. Not for secrets. */
export function randomSuffix(): string {
  let suffix = "";
  for (let i = 0; i < suffixLength; i++) suffix += alphabet[Math.floor(Math.random() * alphabet.length)];
  return suffix;
}

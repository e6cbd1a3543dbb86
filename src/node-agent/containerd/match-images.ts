// Clauses: 3542-14
import { type ContentSnapshot, type Manifest, slackMs, sourceOf } from "./content-facts.ts";

export interface Match {
  readonly manifest: Manifest;
  /** Images that the manifest may belong to, if that is not certain. */
  readonly oneOf?: readonly string[];
}

/**
 * Finds the manifest of each image that is being pulled. The content store knows the repository of a manifest but not its
 * tag, so two tags of one repository can be mistaken for each other if their pulls start between two snapshots. `certain`
 * has the matches that stay as they are until the pull ends.
 */
export function matchImages(
  before: ReadonlyMap<string, string>,
  started: ReadonlyMap<string, number>,
  snapshot: ContentSnapshot,
): { readonly matches: ReadonlyMap<string, Match>; readonly certain: ReadonlyMap<string, string> } {
  const byDigest = new Map(snapshot.manifests.map((manifest) => [manifest.digest, manifest]));
  const matches = new Map<string, Match>();
  const certain = new Map<string, string>();
  const settle = (image: string, manifest: Manifest) => {
    matches.set(image, { manifest });
    certain.set(image, manifest.digest);
  };
  for (const image of started.keys()) {
    const known = byDigest.get(before.get(image) ?? "");
    if (known) settle(image, known);
  }
  const open = [...started].filter(([image]) => !matches.has(image)).sort(([, a], [, b]) => a - b);
  const taken = new Set(certain.values());
  let candidates = new Map(
    open.map(([image, startedMs]) => [image, findCandidates(image, startedMs, { snapshot, taken })]),
  );

  // An image with one candidate that is no other image's only candidate has it, and the others do not.
  for (;;) {
    const single = [...candidates].find(
      ([image, [only, ...more]]) => only && more.length === 0 && !isOnlyOfAnother(candidates, image, only),
    );
    if (!single) break;
    const [image, [manifest]] = single;
    candidates.delete(image);
    if (!manifest) break;
    settle(image, manifest);
    candidates = new Map(
      [...candidates].map(([other, found]) => [other, withoutOne(found, manifest)] as const),
    );
  }

  for (const [image, found] of candidates) {
    const rivals = [...candidates].filter(([, others]) => others.some((other) => found.includes(other)));
    const place = rivals.findIndex(([rival]) => rival === image);
    const manifest = rivals.length > 1 ? found[Math.min(place, found.length - 1)] : found.at(-1);
    const oneOf = rivals.map(([rival]) => rival);
    if (manifest) matches.set(image, { manifest, ...(oneOf.length > 1 && { oneOf }) });
  }
  return { matches, certain };
}

function isOnlyOfAnother(
  candidates: ReadonlyMap<string, readonly Manifest[]>,
  image: string,
  only: Manifest,
): boolean {
  return [...candidates].some(([other, found]) => other !== image && found.length === 1 && found[0] === only);
}

/** Removes a manifest that belongs to another image, unless it is the only candidate: two tags can name one manifest. */
function withoutOne(found: readonly Manifest[], manifest: Manifest): readonly Manifest[] {
  return found.length > 1 ? found.filter((other) => other !== manifest) : found;
}

/** Manifests that a pull of the image may have requested, oldest first. */
function findCandidates(
  image: string,
  startedMs: number,
  { snapshot, taken }: { readonly snapshot: ContentSnapshot; readonly taken: ReadonlySet<string> },
): readonly Manifest[] {
  const source = sourceOf(image);
  if (!source) return [];
  const { digest } = source;
  if (digest !== undefined)
    return snapshot.manifests.filter(
      (manifest) => manifest.digest === digest || manifest.indexes.includes(digest),
    );
  const ofRepository = snapshot.manifests
    .filter(({ repositories }) => repositories.includes(source.repository))
    .sort((a, b) => a.createdMs - b.createdMs);
  const touched = ofRepository.filter(({ touchedMs }) => touchedMs >= startedMs - slackMs);
  const active =
    touched.length > 0 ? touched : ofRepository.filter((manifest) => isActive(manifest, snapshot));
  const free = active.filter((manifest) => !taken.has(manifest.digest));
  // A manifest of another image is shared only if this pull has touched it.
  return free.length > 0 ? free : touched;
}

/** Whether layers of the manifest are being received or unpacked. */
function isActive({ layers }: Manifest, { ingests, stored }: ContentSnapshot): boolean {
  if (layers.some(({ digest }) => ingests.has(digest))) return true;
  const found = layers.map(({ digest }) => stored.get(digest));
  return found.every((layer) => layer) && found.some((layer) => layer && !layer.isUnpacked);
}

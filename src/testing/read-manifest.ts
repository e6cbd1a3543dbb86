import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../api/objects.ts";
import { findResourceOfKind, type Resource } from "../api/resources.ts";

export interface ManifestEntry {
  readonly resource: Resource;
  readonly object: KubeObject;
}

/** The objects of a manifest, those of lists included. Throws with the one that is wrong, and why. */
export function readManifest(manifest: string | object | readonly object[]): readonly ManifestEntry[] {
  const documents: readonly unknown[] =
    typeof manifest === "string" ? parseText(manifest) : Array.isArray(manifest) ? manifest : [manifest];
  return documents
    .filter((document) => document !== null && document !== undefined)
    .flatMap((document, index) => readDocument(document, `document ${index + 1}`));
}

function parseText(text: string): unknown[] {
  const documents = parseAllDocuments(text);
  if ("empty" in documents) return [];
  return documents.map((document) => {
    const [problem] = document.errors;
    if (problem) throw new TypeError(`the manifest is not YAML: ${problem.message}`);
    // An alias bomb must not take the memory of the test.
    return document.toJS({ maxAliasCount: 100 });
  });
}

function readDocument(value: unknown, place: string): ManifestEntry[] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TypeError(`${place} is no object: a mapping with apiVersion, kind and metadata is needed`);
  const { apiVersion, kind, items } = value as { apiVersion?: unknown; kind?: unknown; items?: unknown };
  if (typeof apiVersion !== "string" || typeof kind !== "string")
    throw new TypeError(`${place}: apiVersion and kind must be set`);
  if (kind === "List") {
    if (!Array.isArray(items)) throw new TypeError(`${place}: items of a List must be set`);
    return items.flatMap((item: unknown, index) => readDocument(item, `${place}, items[${index}]`));
  }
  const resource = findResourceOfKind(apiVersion, kind);
  if (!resource) throw new TypeError(`${place}: there is no kind ${kind} in ${apiVersion}`);
  return [{ resource, object: { metadata: {}, ...value, apiVersion, kind } }];
}

import { parseButSpec, unparsedSpec, withoutSpec } from "../../api/meta/lazy-spec.ts";
import type { KubeObject } from "../../api/meta/objects.ts";
import { apiVersionOf, type Resource } from "../../api/meta/resource.ts";
import type { Entry } from "../../store/store.ts";

/**
 * Encodes an object for the store: JSON that begins with kind, apiVersion and metadata, then the spec if there is one.
 * It has no resourceVersion, which is the store's revision and known only after the write. Because the beginning is the
 * same for all objects of a kind, the revision is inserted without parsing.
 */
export function encodeStored(object: KubeObject): string {
  const specText = unparsedSpec(object);
  const { kind, apiVersion, metadata, ...rest } = specText === undefined ? object : withoutSpec(object);
  const { resourceVersion: _, ...stored } = metadata;
  const head = { kind, apiVersion, metadata: stored };
  if (specText !== undefined) {
    const tail = JSON.stringify(rest).slice(1);
    return `${JSON.stringify(head).slice(0, -1)},"spec":${specText}${tail === "}" ? tail : `,${tail}`}`;
  }
  const { spec, ...others }: { spec?: unknown } = rest;
  return JSON.stringify(spec === undefined ? { ...head, ...others } : { ...head, spec, ...others });
}

/** Length of `{"kind":"Pod","apiVersion":"v1","metadata":{`. */
export function headLength(resource: Resource): number {
  return `{"kind":"${resource.kind}","apiVersion":"${apiVersionOf(resource)}","metadata":{`.length;
}

let scratch = Buffer.allocUnsafeSlow(64 * 1_024);

/**
 * Inserts `"resourceVersion":"N",` into the stored bytes: the object as clients receive it. A string, because V8 stores
 * ASCII strings as compactly as bytes, and Node.js sends a string together with its headers.
 */
function withRevision(stored: Buffer, head: number, revision: number): string {
  const field = revisionField(revision);
  const length = stored.length + field.length;
  if (length > scratch.length) scratch = Buffer.allocUnsafeSlow(2 * length);
  stored.copy(scratch, 0, 0, head);
  scratch.write(field, head, "latin1");
  stored.copy(scratch, head + field.length, head);
  return scratch.toString("utf8", 0, length);
}

/** Changes the revision of an object, for a DELETED event. */
function atRevision(json: string, head: number, from: number, to: number): string {
  return json.slice(0, head) + revisionField(to) + json.slice(head + revisionField(from).length);
}

function revisionField(revision: number): string {
  return `"resourceVersion":"${revision}",`;
}

/** Values that selectors match. */
interface SelectorFacts {
  readonly labels: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, string>>;
}

/** Properties that all cached objects of one kind share. */
export interface CachedKind {
  readonly resource: Resource;
  /** Length of the beginning that all stored objects share. Undefined when they are stored in several versions. */
  readonly head: number | undefined;
  readonly fieldReaders: readonly (readonly [string, (object: KubeObject) => string])[];
}

export function cachedKind(
  resource: Resource,
  selectableFields: Readonly<Record<string, (object: KubeObject) => string>> = {},
  { storedVersions = "one" }: { storedVersions?: "one" | "several" } = {},
): CachedKind {
  const head = storedVersions === "one" ? headLength(resource) : undefined;
  return { resource, head, fieldReaders: Object.entries(selectableFields) };
}

const metadataStart = '"metadata":{';

/** Length of the beginning of a stored object whose version is not known. */
function headOf(stored: Buffer): number {
  return stored.indexOf(metadataStart) + metadataStart.length;
}

/** The object from which a write was encoded. Watchers are notified with it, so that the bytes need not be parsed. */
interface WrittenObject {
  readonly object: KubeObject;
  /** The object that it replaces. A spec that was not parsed is the spec of this one. */
  readonly before?: CachedObject | undefined;
}

/** One object at one revision: the JSON that clients receive, parsed on demand. */
export class CachedObject {
  readonly key: string;
  readonly revision: number;
  readonly json: string;
  readonly #kind: CachedKind;
  readonly #head: number;
  #jsonBytes: number | undefined;
  #facts: SelectorFacts | undefined;
  #view: KubeObject | undefined;
  #draft: WrittenObject | undefined;
  #encoded: WeakRef<Buffer> | undefined;

  constructor(kind: CachedKind, entry: Entry, draft?: WrittenObject) {
    this.#kind = kind;
    this.#draft = draft;
    this.key = entry.key;
    this.revision = entry.revision;
    this.#head = kind.head ?? headOf(entry.value);
    this.json = withRevision(entry.value, this.#head, entry.revision);
  }

  /** Length of the JSON in bytes. Equal to its length in characters when all of them are ASCII. */
  get jsonBytes(): number {
    this.#jsonBytes ??= Buffer.byteLength(this.json);
    return this.#jsonBytes;
  }

  /** The JSON as bytes, shared by all concurrent callers. They must not be modified. */
  encoded(): Buffer {
    const shared = this.#encoded?.deref();
    if (shared) return shared;
    // ASCII, which nearly all objects are, is copied as it is.
    const encoded = Buffer.from(this.json, this.jsonBytes === this.json.length ? "latin1" : "utf8");
    this.#encoded = new WeakRef(encoded);
    return encoded;
  }

  facts(): SelectorFacts {
    this.#facts ??= readFacts(this.#draft ?? { object: this.parse() }, this.#kind);
    return this.#facts;
  }

  /** Releases the written object; only the JSON is kept. */
  dropDraft(): void {
    this.#draft = undefined;
  }

  /** API version in which the object is stored. */
  apiVersion(): string {
    return /"apiVersion":"([^"]*)"/.exec(this.json.slice(0, this.#head))?.[1] ?? "";
  }

  /** The object, parsed once. Must not be changed. */
  view(): KubeObject {
    this.#view ??= this.parse();
    return this.#view;
  }

  /** A fresh copy that the caller may change. */
  parse(): KubeObject {
    return JSON.parse(this.json);
  }

  /** As `parse`, but the spec is parsed on first use. */
  parseButSpec(): KubeObject {
    return parseButSpec(this.json, this.#head - 1);
  }

  /** Whether the store already contains this text. */
  isStoredAs(text: string): boolean {
    const head = this.#head;
    const after = head + revisionField(this.revision).length;
    return (
      this.json.length - after === text.length - head &&
      this.json.startsWith(text.slice(0, head)) &&
      this.json.endsWith(text.slice(head))
    );
  }

  /** The JSON with the revision of the deletion. */
  jsonDeletedAt(revision: number): string {
    return atRevision(this.json, this.#head, this.revision, revision);
  }
}

function readFacts({ object, before }: WrittenObject, kind: CachedKind): SelectorFacts {
  const { name = "", namespace = "", labels = {} } = object.metadata;
  const fields: Record<string, string> = { "metadata.name": name, "metadata.namespace": namespace };
  const known = before && unparsedSpec(object) !== undefined ? before.facts().fields : {};
  for (const [path, read] of kind.fieldReaders)
    fields[path] = (path.startsWith("spec.") ? known[path] : undefined) ?? read(object);
  return { labels, fields };
}

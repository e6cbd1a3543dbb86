import type { KubeObject } from "../../api/objects.ts";
import type { Resource } from "../../api/resources.ts";
import type { Entry } from "../../store/store.ts";
import { parseButSpec } from "../registry/lazy-spec.ts";
import { atRevision, headLength, revisionField, withRevision } from "../registry/stored-object.ts";

/** The values that selectors look at. */
export interface SelectorFacts {
  readonly labels: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, string>>;
}

/** What cached objects of one kind share. */
export interface CachedKind {
  readonly resource: Resource;
  readonly head: number;
  readonly fieldReaders: readonly (readonly [string, (object: KubeObject) => string])[];
}

export function cachedKind(
  resource: Resource,
  selectableFields: Readonly<Record<string, (object: KubeObject) => string>> = {},
): CachedKind {
  return { resource, head: headLength(resource), fieldReaders: Object.entries(selectableFields) };
}

/** One object at one revision: its JSON as clients get it, parsed only where something inside is asked for. */
export class CachedObject {
  readonly key: string;
  readonly revision: number;
  readonly json: string;
  readonly #kind: CachedKind;
  #jsonBytes: number | undefined;
  #facts: SelectorFacts | undefined;
  #view: KubeObject | undefined;

  constructor(kind: CachedKind, entry: Entry) {
    this.#kind = kind;
    this.key = entry.key;
    this.revision = entry.revision;
    this.json = withRevision(entry.value, kind.head, entry.revision);
  }

  /** The length of the JSON as it is sent; as many as it has characters when all of them are ASCII. */
  get jsonBytes(): number {
    this.#jsonBytes ??= Buffer.byteLength(this.json);
    return this.#jsonBytes;
  }

  facts(): SelectorFacts {
    this.#facts ??= readFacts(this.parse(), this.#kind);
    return this.#facts;
  }

  /** The object parsed once, for those who only look at it. */
  view(): KubeObject {
    this.#view ??= this.parse();
    return this.#view;
  }

  /** A fresh copy that the caller may change. */
  parse(): KubeObject {
    return JSON.parse(this.json);
  }

  /** The same, for those who will hardly look at the spec. */
  parseButSpec(): KubeObject {
    return parseButSpec(this.json, this.#kind.head - 1);
  }

  /** Whether this text for the store is what is there already. */
  isStoredAs(text: string): boolean {
    const { head } = this.#kind;
    const after = head + revisionField(this.revision).length;
    return this.json.length - after === text.length - head && this.json.endsWith(text.slice(head));
  }

  /** The JSON with the revision of the object's deletion. */
  jsonDeletedAt(revision: number): string {
    return atRevision(this.json, this.#kind.head, this.revision, revision);
  }
}

function readFacts(object: KubeObject, kind: CachedKind): SelectorFacts {
  const { name = "", namespace = "", labels = {} } = object.metadata;
  const fields: Record<string, string> = { "metadata.name": name, "metadata.namespace": namespace };
  for (const [path, read] of kind.fieldReaders) fields[path] = read(object);
  return { labels, fields };
}

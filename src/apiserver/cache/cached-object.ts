import type { KubeObject } from "../../api/objects.ts";
import type { Resource } from "../../api/resources.ts";
import type { Entry } from "../../store/store.ts";
import { parseButSpec, unparsedSpec } from "../registry/lazy-spec.ts";
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

/** An object as its writer has it in hand, lent while watchers are told of it, so that nobody has to parse it for that. */
export interface LentObject {
  readonly object: KubeObject;
  /** The object that it replaces: a spec that nobody has looked at is the spec of that one. */
  readonly before?: CachedObject | undefined;
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
  #lent: LentObject | undefined;

  constructor(kind: CachedKind, entry: Entry, lent?: LentObject) {
    this.#kind = kind;
    this.#lent = lent;
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
    this.#facts ??= readFacts(this.#lent ?? { object: this.parse() }, this.#kind);
    return this.#facts;
  }

  /** From now on only the JSON is kept. */
  giveBack(): void {
    this.#lent = undefined;
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

function readFacts({ object, before }: LentObject, kind: CachedKind): SelectorFacts {
  const { name = "", namespace = "", labels = {} } = object.metadata;
  const fields: Record<string, string> = { "metadata.name": name, "metadata.namespace": namespace };
  const known = before && unparsedSpec(object) !== undefined ? before.facts().fields : {};
  for (const [path, read] of kind.fieldReaders)
    fields[path] = (path.startsWith("spec.") ? known[path] : undefined) ?? read(object);
  return { labels, fields };
}

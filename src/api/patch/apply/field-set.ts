/**
 * FieldSet is a set of field paths in the form of `managedFields[].fieldsV1`: one property for each path element, with
 * the set of the paths below it.
 *
 *     {}                              the path itself
 *     { "f:b": {} }                   only paths below it
 *     { ".": {}, "f:b": {} }          both
 *
 * Path elements are `f:name` (field or map key), `k:{"name":"x"}` (item of a list map) and `v:"x"` (item of a set).
 * A FieldSet must not be modified after it was passed to another function.
 */
export interface FieldSet {
  readonly [element: string]: FieldSet;
}

interface MutableFieldSet {
  [element: string]: MutableFieldSet;
}

export const emptyFieldSet: FieldSet = Object.freeze({});

const self = ".";

/** Collects paths. */
export class FieldSetBuilder {
  readonly #root: MutableFieldSet = {};

  get set(): FieldSet {
    return this.#root;
  }

  insert(path: readonly string[]): void {
    const last = path.at(-1);
    if (last === undefined) return;
    const parent = this.#parentOf(path);
    const child = parent[last];
    if (!child) parent[last] = {};
    else if (!isEmptyFieldSet(child)) child[self] ??= {};
  }

  /** Inserts a path and paths below it, of which the builder has none. The node must be a member. */
  insertNode(path: readonly string[], node: FieldSet): void {
    const last = path.at(-1);
    if (last !== undefined) this.#parentOf(path)[last] = node as MutableFieldSet;
    else for (const [element, child] of childrenOf(node)) this.#root[element] = child as MutableFieldSet;
  }

  #parentOf(path: readonly string[]): MutableFieldSet {
    let node = this.#root;
    for (let depth = 0; depth < path.length - 1; depth++) {
      const element = path[depth] ?? "";
      let child = node[element];
      if (!child) {
        child = {};
        node[element] = child;
      } else if (isEmptyFieldSet(child)) {
        // An empty node is a member: it needs the mark before it gets children.
        child[self] = {};
      }
      node = child;
    }
    return node;
  }
}

/** Whether a set has no paths. A node below the root with no paths is a member itself. */
export function isEmptyFieldSet(set: FieldSet): boolean {
  for (const _ in set) return false;
  return true;
}

/** Whether a node below the root is a member of the set. */
export function isMember(node: FieldSet | undefined): boolean {
  return node !== undefined && (self in node || isEmptyFieldSet(node));
}

export function hasPath(set: FieldSet, path: readonly string[]): boolean {
  let node: FieldSet | undefined = set;
  for (const element of path) node = node?.[element];
  return isMember(node);
}

/** Paths in a or b. */
export function unionOf(a: FieldSet, b: FieldSet): FieldSet {
  return combineChildren(a, b, (inA, inB) => inA || inB);
}

/** Paths in a and not in b. Paths below a path of b stay. Returns `a` itself if they have no path in common. */
export function differenceOf(a: FieldSet, b: FieldSet): FieldSet {
  return isDisjoint(a, b) ? a : combineChildren(a, b, (inA, inB) => inA && !inB);
}

function isDisjoint(a: FieldSet, b: FieldSet): boolean {
  for (const element in b) {
    const [inA, inB] = [a[element], b[element]];
    if (element === self || !inA || !inB) continue;
    if ((isMember(inA) && isMember(inB)) || !isDisjoint(inA, inB)) return false;
  }
  return true;
}

/** Paths in a and b. */
export function intersectionOf(a: FieldSet, b: FieldSet): FieldSet {
  return combineChildren(a, b, (inA, inB) => inA && inB);
}

type Keep = (inA: boolean, inB: boolean) => boolean;

function combineChildren(a: FieldSet, b: FieldSet, keep: Keep): FieldSet {
  const children: MutableFieldSet = {};
  const add = (element: string) => {
    if (element === self || element in children) return;
    const child = combineNodes(a[element], b[element], keep);
    if (child) children[element] = child;
  };
  for (const element in a) add(element);
  if (keep(false, true)) for (const element in b) add(element);
  return children;
}

function combineNodes(a: FieldSet | undefined, b: FieldSet | undefined, keep: Keep): FieldSet | undefined {
  if (!b) return keep(true, false) ? a : undefined;
  if (!a) return keep(false, true) ? b : undefined;
  const isKept = keep(isMember(a), isMember(b));
  const children = combineChildren(a, b, keep);
  if (isEmptyFieldSet(children)) return isKept ? emptyFieldSet : undefined;
  return isKept ? { [self]: emptyFieldSet, ...children } : children;
}

/** Removes the paths of `excluded` and every path below them. */
export function excludeFields(set: FieldSet, excluded: FieldSet): FieldSet {
  const rest: MutableFieldSet = {};
  for (const element in set) {
    const child = set[element];
    const exclude = excluded[element];
    if (!child || isMember(exclude)) continue;
    if (!exclude || element === self) {
      rest[element] = child;
      continue;
    }
    const kept = excludeFields(child, exclude);
    if (childrenOf(kept).length > 0) rest[element] = kept;
    else if (isMember(child)) rest[element] = emptyFieldSet;
  }
  return rest;
}

/** Marks a node with children as a member. */
export function asMember(node: FieldSet): FieldSet {
  return isMember(node) ? node : { [self]: emptyFieldSet, ...node };
}

/** Path elements with paths below them, and these. */
export function childrenOf(set: FieldSet): [element: string, child: FieldSet][] {
  return Object.entries(set).filter(([element]) => element !== self);
}

/** All paths of the set in upstream's order: those of a node before those below it. */
export function pathsOf(set: FieldSet): string[][] {
  const children = childrenOf(sortFieldSet(set));
  const members = children.filter(([, child]) => isMember(child)).map(([element]) => [element]);
  const nested = children.flatMap(([element, child]) => pathsOf(child).map((path) => [element, ...path]));
  return [...members, ...nested];
}

/** Returns the set with its path elements in upstream's order: fields, then keys, then values. */
export function sortFieldSet(set: FieldSet): FieldSet {
  // Most sets come sorted from the store.
  if (isSorted(set)) return set;
  const sorted: MutableFieldSet = {};
  for (const element of Object.keys(set).sort(compareElements)) {
    const child = set[element];
    if (child) sorted[element] = isEmptyFieldSet(child) ? emptyFieldSet : sortFieldSet(child);
  }
  return sorted;
}

function isSorted(set: FieldSet): boolean {
  let previous: string | undefined;
  for (const element in set) {
    if (previous !== undefined && compareElements(previous, element) > 0) return false;
    previous = element;
    const child = set[element];
    if (child && !isSorted(child)) return false;
  }
  return true;
}

/** Key with one text field, as most lists have: `k:{"name":"x"}`. */
const textKey = /^k:\{"(\w+)":"([^"\\]*)"\}$/;

function compareElements(a: string, b: string): number {
  const type = a[0] === b[0] ? a[0] : undefined;
  if (type === "k") {
    const [, name, left] = textKey.exec(a) ?? [];
    const [, otherName, right] = textKey.exec(b) ?? [];
    if (name !== undefined && name === otherName) return compareValues(left, right);
  }
  if (type === "k" || type === "v") {
    return compareValues(JSON.parse(a.slice(2)), JSON.parse(b.slice(2)));
  }
  return a < b ? -1 : Number(a > b);
}

/** Compares keys and values as upstream does: numbers before strings, objects by their sorted fields. */
function compareValues(a: unknown, b: unknown): number {
  if (isKey(a) && isKey(b)) {
    const left = Object.entries(a);
    const right = Object.entries(b);
    for (const [i, [name, value]] of left.entries()) {
      const [otherName, otherValue] = right[i] ?? [];
      if (otherName === undefined) return 1;
      const order = compareValues(name, otherName) || compareValues(value, otherValue);
      if (order !== 0) return order;
    }
    return left.length - right.length;
  }
  if (typeof a !== typeof b) return rankOf(a) - rankOf(b);
  const [left, right] = [a as string | number, b as string | number];
  return left < right ? -1 : Number(left > right);
}

function isKey(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function rankOf(value: unknown): number {
  return ["number", "string", "boolean"].indexOf(typeof value);
}

/** Formats a path as upstream's messages do: `.spec.containers[name="web"].image`. */
export function formatPath(path: readonly string[]): string {
  return path.map(formatElement).join("");
}

function formatElement(element: string): string {
  const text = element.slice(2);
  if (element.startsWith("f:")) return `.${text}`;
  const value: unknown = JSON.parse(text);
  if (!isKey(value)) return `[=${text}]`;
  const fields = Object.entries(value).map(([name, field]) => `${name}=${JSON.stringify(field)}`);
  return `[${fields.join(",")}]`;
}

import type { Expr } from "./ast.ts";
import {
  authorizationCost,
  listCreateCost,
  nominal,
  regexFactor,
  stringFactor,
  structCreateCost,
} from "./call-cost.ts";
import { add, fixed, maxUint64, multiply, type Range, scale, union, unknownSize } from "./estimate-size.ts";
import { isSameType, type Type } from "./type.ts";

/** Argument of a call whose cost is estimated. */
export interface EstimatedNode {
  /** Path from a variable, where the value is one of its parts. */
  readonly path: readonly string[] | undefined;
  readonly type: Type;
  readonly expr: Expr | undefined;
  /** Size that is known from the expression or its path. */
  readonly size: Range | undefined;
}

/** Cost of a call without that of its arguments, and the size of its result. */
export interface CallEstimate {
  readonly cost: Range;
  readonly size?: Range;
}

export interface EstimatedCall {
  readonly fn: string;
  readonly overload: string;
  readonly target: EstimatedNode | undefined;
  readonly args: readonly EstimatedNode[];
  /** Estimates the size of an item of a list. */
  readonly itemOf: (list: EstimatedNode) => EstimatedNode | undefined;
}

function sizeOf(node: EstimatedNode | undefined): Range {
  return node?.size ?? unknownSize;
}

/** Estimated cost of the functions of Kubernetes and of cel-go's extensions. Undefined for all others. */
export function estimateLibraryCall(call: EstimatedCall): CallEstimate | undefined {
  return estimateExtension(call) ?? estimateKubernetes(call);
}

/** Values of literals, which bound the size of a result. */
function literalOr(node: EstimatedNode | undefined, otherwise: bigint): bigint {
  if (node?.expr?.kind !== "literal" || typeof node.expr.value !== "bigint") return otherwise;
  return node.expr.value < 0n ? 0n : node.expr.value;
}

function estimateExtension({ overload, target, args }: EstimatedCall): CallEstimate | undefined {
  const [first, second] = args;
  const allocating = (factor: number, size: Range): CallEstimate => ({
    cost: add(scale(size, factor), fixed(1), fixed(listCreateCost)),
    size,
  });
  const compared = (node: EstimatedNode | undefined, factor = 2) =>
    allocating(factor, multiply(sizeOf(node), sizeOf(node)));
  const sets = (factor: number) => ({
    cost: add(scale(multiply(sizeOf(first), sizeOf(second)), factor), fixed(1)),
  });
  switch (overload) {
    case "list_slice": {
      const length = literalOr(second, sizeOf(target).max) - literalOr(first, 0n);
      return allocating(1, fixed(BigInt.asUintN(64, length)));
    }
    case "lists_range":
      return allocating(1, fixed(literalOr(first, maxUint64)));
    case "list_reverse":
      return allocating(1, sizeOf(target));
    case "list_flatten":
      return allocating(1, sizeOf(target));
    case "list_flatten_int":
      return allocating(Number(literalOr(first, maxUint64)), sizeOf(target));
    case "list_distinct":
      return compared(target);
    case "list_sets_contains_list":
    case "list_sets_intersects_list":
      return sets(1);
    case "list_sets_equivalent_list":
      return sets(2);
    default: {
      const factor = /_(?:string|bytes)_sort/.test(overload) ? 2 + stringFactor : 2;
      if (/^list_.*_sort$/.test(overload)) return compared(target, factor);
      return /^list_.*_sortByAssociatedKeys$/.test(overload) ? compared(first, factor) : undefined;
    }
  }
}

const one = fixed(1);

function estimateKubernetes(call: EstimatedCall): CallEstimate | undefined {
  const { fn, overload, target, args } = call;
  if (nominal.has(fn)) return { cost: one };
  const [first, second] = args;
  const traversal = (node: EstimatedNode | undefined, factor = stringFactor) => scale(sizeOf(node), factor);
  switch (fn) {
    case "check":
      return { cost: fixed(authorizationCost) };
    case "fieldSelector":
    case "labelSelector":
      return { cost: selectorCost(sizeOf(first)) };
    case "isSorted":
    case "sum":
    case "max":
    case "min":
    case "indexOf":
    case "lastIndexOf":
      return target && { cost: itemsCost(call, target) };
    case "url":
    case "jsonpatch.escapeKey":
      return { cost: traversal(first), size: sizeOf(first) };
    case "lowerAscii":
    case "upperAscii":
    case "substring":
    case "trim":
      return target && { cost: traversal(target), size: sizeOf(target) };
    case "replace":
      return (
        target && {
          cost: traversal(target, 2 * stringFactor),
          size: replacedSize(sizeOf(target), sizeOf(first), sizeOf(second)),
        }
      );
    case "split":
      return (
        target && {
          cost: traversal(target, 2 * stringFactor),
          size: { min: 0n, max: literalOr(second, sizeOf(target).max) },
        }
      );
    case "join":
      return target && joinCost(call, target);
    case "find":
    case "findAll":
      return (
        target && {
          cost: multiply(scale(add(sizeOf(target), one), stringFactor), scale(sizeOf(first), regexFactor)),
          size: { min: 0n, max: sizeOf(target).max },
        }
      );
    case "ip":
      return { cost: overload === "cidr_ip" ? one : traversal(first) };
    case "cidr":
    case "isIP":
    case "isCIDR":
    case "quantity":
    case "isQuantity":
    case "semver":
    case "isSemver":
      return { cost: traversal(first) };
    case "ip.isCanonical":
      return { cost: traversal(first, 2 * stringFactor) };
    case "containsIP":
    case "containsCIDR":
      return { cost: containsCost(fn, overload, first) };
    case "validate":
      return { cost: scale(traversal(first), maxFormatRegexSize * regexFactor) };
    case "_==_":
      return equalityCost(first, second);
    default:
      return undefined;
  }
}

const maxFormatRegexSize = 128;
const maxFormatSize = 64;

function selectorCost(length: Range): Range {
  const requirements = scale(length, 0.5);
  return add(
    fixed(listCreateCost),
    scale(length, stringFactor),
    scale(requirements, listCreateCost + structCreateCost),
  );
}

/** One unit for each item, and the traversal of items that are texts. */
function itemsCost({ itemOf }: EstimatedCall, target: EstimatedNode): Range {
  const item = itemOf(target);
  if (!item) return scale(sizeOf(target), stringFactor);
  const isText = item.type.kind === "string" || item.type.kind === "bytes";
  return multiply(sizeOf(target), isText ? add(one, scale(sizeOf(item), stringFactor)) : one);
}

function joinCost({ itemOf, args: [separator] }: EstimatedCall, target: EstimatedNode): CallEstimate {
  const count = sizeOf(target);
  const item = itemOf(target);
  const items = item ? multiply(count, sizeOf(item)) : fixed(0);
  const less = (value: bigint) => (value > 0n ? value - 1n : 0n);
  const gaps = { min: less(count.min), max: less(count.max) };
  const size = separator ? add(items, multiply(sizeOf(separator), gaps)) : items;
  return { cost: scale(size, stringFactor), size };
}

/** Shortest and longest result of replacing a text of some size by another one. */
function replacedSize(size: Range, old: Range, next: Range): Range {
  const divided = (value: bigint, by: bigint) => BigInt(Math.ceil(Number(value) / Number(by)));
  const plusOne = (value: bigint) => (value < maxUint64 ? value + 1n : value);
  const longest =
    old.min === 0n
      ? { count: plusOne(size.max), kept: size.max }
      : next.max <= old.min
        ? { count: 0n, kept: size.max }
        : { count: divided(size.max, old.min), kept: 0n };
  const shortest =
    old.max === 0n
      ? { count: plusOne(size.min), kept: size.min }
      : old.max <= next.min
        ? { count: 0n, kept: size.min }
        : { count: divided(size.min, old.max), kept: 0n };
  const counts = { min: shortest.count, max: longest.count };
  return add(multiply(counts, next), { min: shortest.kept, max: longest.kept });
}

function containsCost(fn: string, overload: string, other: EstimatedNode | undefined): Range {
  const bytes = { min: 4n, max: 16n };
  const compare = scale(add(bytes, bytes), stringFactor);
  const mask = fn === "containsCIDR" ? add(scale(bytes, stringFactor), one) : fixed(0);
  const parse = overload.endsWith("_string") ? scale(sizeOf(other), stringFactor) : fixed(0);
  return add(compare, mask, parse);
}

function equalityCost(a: EstimatedNode | undefined, b: EstimatedNode | undefined): CallEstimate | undefined {
  if (!a || !b || !isSameType(a.type, b.type)) return undefined;
  const { kind, name } = a.type;
  if (kind === "opaque") return name === "net.IP" || name === "net.CIDR" ? { cost: one } : undefined;
  if (kind !== "struct") return undefined;
  if (name === "kubernetes.NamedFormat")
    return { cost: scale({ min: 1n, max: BigInt(maxFormatSize) }, stringFactor) };
  if (name === "kubernetes.URL") {
    // As upstream, the size of the second one counts for both.
    const size = b.size ? union(b.size, b.size) : one;
    return { cost: scale({ min: 1n, max: size.max }, stringFactor) };
  }
  const isSimple =
    name.startsWith("kubernetes.authorization.") ||
    name === "kubernetes.Quantity" ||
    name === "kubernetes.Semver";
  return isSimple ? { cost: one } : undefined;
}

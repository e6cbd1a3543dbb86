import { codePoints } from "./parser.ts";
import { CelList, CelMap, CelObject, Optional, type Value } from "./values.ts";

/** Cost factor for one traversal of a string. */
export const stringFactor = 0.1;
/** Cost factor for the length of a regular expression. */
export const regexFactor = 0.25;

export const listCreateCost = 10;
export const structCreateCost = 40;

/** Fixed cost of an authorization check: it allows two of them in one expression. */
export const authorizationCost = 350_000;

/** Functions of Kubernetes' libraries that cost 1. */
export const nominal: ReadonlySet<string> = new Set([
  "serviceAccount",
  "path",
  "group",
  "resource",
  "subresource",
  "namespace",
  "name",
  "allowed",
  "reason",
  "error",
  "errored",
  "masked",
  "prefixLength",
  "family",
  "isUnspecified",
  "isLoopback",
  "isLinkLocalMulticast",
  "isLinkLocalUnicast",
  "isGlobalUnicast",
  "format.named",
  "sign",
  "asInteger",
  "isInteger",
  "asApproximateFloat",
  "isGreaterThan",
  "isLessThan",
  "compareTo",
  "add",
  "sub",
  "major",
  "minor",
  "patch",
  "getScheme",
  "getHostname",
  "getHost",
  "getPort",
  "getEscapedPath",
  "getQuery",
]);

/** Size of a value as the function `size` computes it; 1 for values without one. */
function sizeOf(value: Value | undefined): number {
  if (typeof value === "string") return codePoints(value);
  if (value instanceof CelList || value instanceof Uint8Array) return value.length;
  if (value instanceof CelMap) return value.size;
  if (value instanceof CelObject) return value.sizeForCost ?? 1;
  return value instanceof Optional && value.value !== undefined ? sizeOf(value.value) : 1;
}

function stringCost(value: Value | undefined, factor = stringFactor): number {
  return Math.ceil(sizeOf(value) * factor);
}

function regexCost(text: Value | undefined, patternSize: number): number {
  return Math.ceil((1 + sizeOf(text)) * stringFactor) * Math.ceil(patternSize * regexFactor);
}

/** Cost of visiting a value with everything in it. */
function traversalCost(value: Value | undefined): number {
  if (typeof value === "string") return Math.floor(Buffer.byteLength(value) * stringFactor);
  if (value instanceof Uint8Array) return Math.floor(value.length * stringFactor);
  let cost = 0;
  if (value instanceof CelList) {
    for (const item of value.values()) cost += traversalCost(item);
    return cost;
  }
  if (!(value instanceof CelMap)) return 1;
  for (const key of value.keys()) cost += traversalCost(key) + traversalCost(value.find(key));
  return cost;
}

/** Cost of a call at run time, with the numbers of Kubernetes' libraries first and those of cel-go otherwise. */
export function callCost(
  fn: string,
  overload: string,
  args: readonly Value[],
  result: Value | undefined,
): number {
  return (
    extensionCost(overload, args) ?? libraryCost(fn, overload, args, result) ?? standardCost(overload, args)
  );
}

/** Costs of cel-go's extensions for lists and sets, which have their own tables. */
function extensionCost(overload: string, [first, second, third]: readonly Value[]): number | undefined {
  if (!overload.startsWith("list")) return undefined;
  const allocating = (factor: number, size: number) => Math.trunc(size * factor) + 1 + listCreateCost;
  switch (overload) {
    case "list_slice":
      return allocating(1, Math.max(0, Number(third) - Number(second)));
    case "list_flatten":
      return allocating(1, sizeOf(first));
    case "list_flatten_int":
      return allocating(Number(second), sizeOf(first));
    case "lists_range":
      return allocating(1, Math.max(0, Number(first)));
    case "list_reverse":
      return allocating(1, sizeOf(first));
    case "list_distinct":
      return comparisonCost(first);
    case "list_sets_contains_list":
    case "list_sets_intersects_list":
      return 1 + sizeOf(first) * sizeOf(second);
    case "list_sets_equivalent_list":
      return 1 + sizeOf(first) * sizeOf(second) * 2;
    default:
      if (/^list_.*_sort$/.test(overload)) return comparisonCost(first);
      return /^list_.*_sortByAssociatedKeys$/.test(overload) ? comparisonCost(second) : undefined;
  }

  function comparisonCost(list: Value | undefined): number {
    const size = sizeOf(list);
    const item = list instanceof CelList && size > 0 ? list.at(0) : null;
    const factor = typeof item === "string" || item instanceof Uint8Array ? 2 + stringFactor : 2;
    return allocating(factor, size * size);
  }
}

function libraryCost(
  fn: string,
  overload: string,
  args: readonly Value[],
  result: Value | undefined,
): number | undefined {
  if (nominal.has(fn)) return 1;
  const [first, second] = args;
  switch (fn) {
    case "check":
      return authorizationCost;
    case "fieldSelector":
    case "labelSelector":
      return args.length >= 2 ? selectorCost(sizeOf(second)) : undefined;
    case "isSorted":
    case "sum":
    case "max":
    case "min":
    case "indexOf":
    case "lastIndexOf":
      return traversalCost(first);
    case "url":
    case "lowerAscii":
    case "upperAscii":
    case "substring":
    case "trim":
    case "jsonpatch.escapeKey":
    case "cidr":
    case "isIP":
    case "isCIDR":
    case "quantity":
    case "isQuantity":
    case "semver":
    case "isSemver":
      return stringCost(first);
    case "ip":
      return overload === "cidr_ip" ? 1 : stringCost(first);
    case "replace":
    case "split":
    case "ip.isCanonical":
      return stringCost(first, 2 * stringFactor);
    case "join":
      return stringCost(result, 2 * stringFactor);
    case "find":
    case "findAll":
      return regexCost(first, sizeOf(second));
    case "validate":
      return formatCost(first, second);
    case "containsIP":
    case "containsCIDR":
      return containsCost(fn, overload, sizeOf(first), second);
    case "_==_":
      return first instanceof CelObject ? 1 : undefined;
    default:
      return undefined;
  }
}

/** Object that validates a named format, whose regular expression has an assumed size. */
interface SizedFormat {
  readonly regexSize: number;
}

function formatCost(format: Value | undefined, text: Value | undefined): number | undefined {
  return format instanceof CelObject && "regexSize" in format
    ? regexCost(text, (format as SizedFormat).regexSize)
    : undefined;
}

function containsCost(fn: string, overload: string, size: number, other: Value | undefined): number {
  const compare = Math.ceil((size + size) * stringFactor);
  const mask = fn === "containsCIDR" ? Math.ceil(size * stringFactor) + 1 : 0;
  return compare + mask + (overload.endsWith("_string") ? stringCost(other) : 0);
}

function selectorCost(length: number): number {
  const requirements = Math.ceil(length * 0.5);
  return (
    listCreateCost + Math.ceil(length * stringFactor) + requirements * (listCreateCost + structCreateCost)
  );
}

/** Comparisons whose cost is that of the smaller value. */
export const comparisons: ReadonlySet<string> = new Set([
  "equals",
  "not_equals",
  ...["less", "less_equals", "greater", "greater_equals"].flatMap((name) => [
    `${name}_string`,
    `${name}_bytes`,
  ]),
]);

function standardCost(overload: string, [first, second]: readonly Value[]): number {
  switch (overload) {
    case "starts_with_string":
    case "ends_with_string":
    case "string_to_bytes":
    case "bytes_to_string":
    case "strings_quote":
    case "string_format":
      return stringCost(first);
    case "in_list":
      return sizeOf(second);
    case "add_string":
    case "add_bytes":
      return Math.ceil((sizeOf(first) + sizeOf(second)) * stringFactor);
    case "matches_string":
      return regexCost(first, sizeOf(second));
    case "contains_string":
      return stringCost(first) * stringCost(second);
    default:
      return comparisons.has(overload)
        ? Math.ceil(Math.min(sizeOf(first), sizeOf(second)) * stringFactor)
        : 1;
  }
}

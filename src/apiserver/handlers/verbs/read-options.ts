import { FieldErrors } from "../../../api/meta/field-errors.ts";
import { badRequest, invalidObject } from "../../../api/meta/status-error.ts";
import { isTrue } from "../../request/request-info.ts";
import { type ContinueToken, decodeContinue } from "./continue-token.ts";

/** Requested revision of a list. */
type ListTime =
  /** Most recent revision. */
  | { readonly kind: "latest" }
  /** Any revision. */
  | { readonly kind: "any" }
  | { readonly kind: "notOlderThan"; readonly revision: number }
  | { readonly kind: "exact"; readonly revision: number }
  | { readonly kind: "continue"; readonly token: ContinueToken };

export interface ListOptions {
  readonly time: ListTime;
  /** Maximum number of objects. Undefined for all objects in one response. */
  readonly limit: number | undefined;
}

/** Start of a watch. */
type WatchStart =
  /** Current objects as ADDED events, then changes. */
  | { readonly kind: "fromNow" }
  /** The same, from the cache, which may be slightly behind. */
  | { readonly kind: "any" }
  /** Changes from now on. */
  | { readonly kind: "changes" }
  | { readonly kind: "after"; readonly revision: number }
  /** Like `fromNow`, followed by a bookmark that marks the end of the initial objects, at or after a revision. */
  | { readonly kind: "initialEvents"; readonly revision: number };

export interface WatchOptions {
  readonly start: WatchStart;
  readonly bookmarks: boolean;
  readonly timeoutSeconds: number | undefined;
}

export function parseListOptions(query: URLSearchParams): ListOptions {
  if (query.size === 0) return wholeList;
  const limit = integerParameter(query, "limit");
  integerParameter(query, "timeoutSeconds");
  const continueText = query.get("continue") ?? "";
  const match = query.get("resourceVersionMatch") ?? "";
  validateListOptions(query, match);
  const revision = revisionParameter(query);
  const page = limit !== undefined && limit > 0 ? limit : undefined;
  if (continueText) {
    if (revision) throw badRequest("specifying resource version is not allowed when using continue");
    return { time: { kind: "continue", token: decodeContinue(continueText) }, limit: page };
  }
  return { time: listTime(revision, match, page), limit: page };
}

const wholeList: ListOptions = { time: { kind: "latest" }, limit: undefined };

function validateListOptions(query: URLSearchParams, match: string): void {
  const at = new FieldErrors("");
  const revision = query.get("resourceVersion");
  const reject = (detail: string) => at.forbidden("resourceVersionMatch", `resourceVersionMatch ${detail}`);
  if (match && !revision) reject("is forbidden unless resourceVersion is provided");
  if (match && query.get("continue")) reject("is forbidden when continue is provided");
  if (match) at.oneOf("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]);
  if (match === "Exact" && revision === "0") reject('"exact" is forbidden for resourceVersion "0"');
  if (query.has("sendInitialEvents"))
    at.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
  rejectInvalid("ListOptions", at);
}

function listTime(revision: number | undefined, match: string, limit: number | undefined): ListTime {
  if (revision === undefined) return { kind: "latest" };
  if (match === "Exact") return { kind: "exact", revision };
  if (revision === 0) return { kind: "any" };
  // Without a resourceVersionMatch, a paged list is of exactly that revision.
  return match === "" && limit ? { kind: "exact", revision } : { kind: "notOlderThan", revision };
}

export function parseWatchOptions(query: URLSearchParams): WatchOptions {
  validateWatchOptions(query);
  const revision = revisionParameter(query);
  const options = {
    bookmarks: isTrue(query.get("allowWatchBookmarks")),
    timeoutSeconds: integerParameter(query, "timeoutSeconds"),
  };
  if (query.has("sendInitialEvents") && isTrue(query.get("sendInitialEvents")))
    return { ...options, start: { kind: "initialEvents", revision: revision ?? 0 } };
  if (revision !== undefined && revision > 0) return { ...options, start: { kind: "after", revision } };
  // `sendInitialEvents=false`.
  if (query.has("sendInitialEvents")) return { ...options, start: { kind: "changes" } };
  return { ...options, start: { kind: revision === 0 ? "any" : "fromNow" } };
}

function validateWatchOptions(query: URLSearchParams): void {
  const at = new FieldErrors("");
  const match = query.get("resourceVersionMatch") ?? "";
  const initial = query.has("sendInitialEvents");
  const reject = (detail: string) => at.forbidden("resourceVersionMatch", detail);
  if (initial && match !== "NotOlderThan")
    reject("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  if (match && !initial)
    reject("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  if (match) at.oneOf("resourceVersionMatch", match, ["NotOlderThan"]);
  if (query.get("continue")) reject("resourceVersionMatch is forbidden when continue is provided");
  rejectInvalid("ListOptions", at);
}

/** Error for invalid options, with the kind that upstream uses for them. */
export function rejectInvalid(kind: string, { errors }: FieldErrors): void {
  if (errors.length > 0) throw invalidObject({ group: "meta.k8s.io", kind }, "", errors);
}

export function revisionParameter(query: URLSearchParams): number | undefined {
  const text = query.get("resourceVersion");
  if (!text) return undefined;
  const revision = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(revision)) return revision;
  const value = JSON.stringify(text);
  throw badRequest(
    `invalid resource version: resourceVersion: Invalid value: ${value}: strconv.ParseUint: parsing ${value}: invalid syntax`,
  );
}

function integerParameter(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  return text ? parseInteger(text) : undefined;
}

/** Parses an integer. Throws with Go's message. */
export function parseInteger(text: string): number {
  const isNumber = /^[+-]?\d+$/.test(text);
  if (isNumber && Number.isSafeInteger(Number(text))) return Number(text);
  const problem = isNumber ? "value out of range" : "invalid syntax";
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${problem}`);
}

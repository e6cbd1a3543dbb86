import { badRequest } from "../../api/status-error.ts";
import { isTrue } from "../request-info.ts";
import { type ContinueToken, decodeContinue } from "./continue-token.ts";

/** As of when a list is wanted. */
type ListTime =
  /** As of now. */
  | { readonly kind: "latest" }
  /** Whatever is at hand. */
  | { readonly kind: "any" }
  | { readonly kind: "notOlderThan"; readonly revision: number }
  | { readonly kind: "exact"; readonly revision: number }
  | { readonly kind: "continue"; readonly token: ContinueToken };

export interface ListOptions {
  readonly time: ListTime;
  /** Undefined: everything in one answer. */
  readonly limit: number | undefined;
}

/** Where a watch begins. */
type WatchStart =
  /** The objects as they are, as ADDED events, then changes. */
  | { readonly kind: "fromNow" }
  /** The same, from state that may be a little old. */
  | { readonly kind: "any" }
  | { readonly kind: "after"; readonly revision: number }
  /** Like `fromNow`, with a bookmark that says where the state ends, at or after a revision. */
  | { readonly kind: "initialEvents"; readonly revision: number };

export interface WatchOptions {
  readonly start: WatchStart;
  readonly bookmarks: boolean;
  readonly timeoutSeconds: number | undefined;
}

export function parseListOptions(query: URLSearchParams): ListOptions {
  const limit = integerParameter(query, "limit");
  const continueText = query.get("continue");
  const revision = revisionParameter(query);
  const match = query.get("resourceVersionMatch") ?? "";
  if (query.has("sendInitialEvents")) throw invalidOption("sendInitialEvents", "is forbidden for list");

  if (continueText) {
    if (match) throw invalidOption("resourceVersionMatch", "is forbidden for continue");
    if (revision) throw badRequest("specifying resource version is not allowed when using continue");
    return { time: { kind: "continue", token: decodeContinue(continueText) }, limit: limit || undefined };
  }
  return { time: listTime(revision, match, limit ?? 0), limit: limit || undefined };
}

function listTime(revision: number | undefined, match: string, limit: number): ListTime {
  if (match && revision === undefined)
    throw invalidOption("resourceVersionMatch", "is forbidden unless resourceVersion is provided");
  switch (match) {
    case "Exact":
      if (!revision)
        throw invalidOption("resourceVersionMatch", '"Exact" is forbidden for resourceVersion "0"');
      return { kind: "exact", revision };
    case "NotOlderThan":
    case "":
      if (revision === undefined) return { kind: "latest" };
      if (revision === 0) return { kind: "any" };
      // Without a match a paged list has always been of exactly that revision.
      return match === "" && limit > 0 ? { kind: "exact", revision } : { kind: "notOlderThan", revision };
    default:
      throw invalidOption(
        "resourceVersionMatch",
        `unsupported value ${JSON.stringify(match)}: supported values: "Exact", "NotOlderThan"`,
      );
  }
}

export function parseWatchOptions(query: URLSearchParams): WatchOptions {
  const revision = revisionParameter(query);
  const match = query.get("resourceVersionMatch") ?? "";
  const options = {
    bookmarks: isTrue(query.get("allowWatchBookmarks")),
    timeoutSeconds: integerParameter(query, "timeoutSeconds"),
  };
  if (query.has("sendInitialEvents")) {
    if (match !== "NotOlderThan") {
      throw invalidOption(
        "resourceVersionMatch",
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
      );
    }
    if (isTrue(query.get("sendInitialEvents"))) {
      return { ...options, start: { kind: "initialEvents", revision: revision ?? 0 } };
    }
  } else if (match) {
    throw invalidOption(
      "resourceVersionMatch",
      "is forbidden for watch unless sendInitialEvents is provided",
    );
  }
  if (revision === undefined) return { ...options, start: { kind: "fromNow" } };
  return { ...options, start: revision === 0 ? { kind: "any" } : { kind: "after", revision } };
}

function revisionParameter(query: URLSearchParams): number | undefined {
  const text = query.get("resourceVersion");
  if (!text) return undefined;
  const revision = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(revision))
    throw invalidOption("resourceVersion", `${JSON.stringify(text)} is not a resource version`);
  return revision;
}

function integerParameter(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (!text) return undefined;
  const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw invalidOption(name, `${JSON.stringify(text)} is not an integer`);
  if (value < 0) throw invalidOption(name, `${value} is negative`);
  return value;
}

function invalidOption(name: string, detail: string) {
  return badRequest(`${name}: ${detail}`);
}

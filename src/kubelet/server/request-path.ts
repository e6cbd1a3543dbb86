import { HttpError } from "./http-error.ts";

export interface RequestPath {
  /** `/exec/a/b/c` as `exec`, `a`, `b`, `c`, each decoded by itself: an encoded slash stays inside its segment. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

export function parsePath(url: string): RequestPath {
  const mark = url.indexOf("?");
  const path = mark === -1 ? url : url.slice(0, mark);
  const query = new URLSearchParams(mark === -1 ? "" : url.slice(mark + 1));
  try {
    const segments = path.replace(/^\//, "").replace(/\/$/, "").split("/").map(decodeURIComponent);
    return { segments, query };
  } catch {
    throw new HttpError(400, "the path of the request is not valid percent-encoding");
  }
}

/** A flag is on when it is there at all, unless it says `0` or `false`. */
export function readFlag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== "0" && value.toLowerCase() !== "false";
}

import type { KindDefinition } from "../../api/kinds/kind-definition.ts";
import type { KindRegistry } from "../kinds/kind-registry.ts";

/** Empty for methods that are no verb, which only proxies take. */
export type Verb =
  | ""
  | "get"
  | "list"
  | "watch"
  | "create"
  | "update"
  | "patch"
  | "delete"
  | "deletecollection";

/** A request for a resource, whether or not that resource is served. */
export interface ResourceRequest {
  readonly kind: "resource";
  readonly verb: Verb;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  /** Path after the subresource: after `nodes/x/proxy/`. */
  readonly rest: string;
  /** Undefined when the resource is not served. */
  readonly definition: KindDefinition | undefined;
  readonly path: string;
}

/** A request for anything else: discovery, health, metrics, OpenAPI. */
interface PathRequest {
  readonly kind: "path";
  /** The method in lower case, which is the verb of a non-resource request. */
  readonly verb: string;
  readonly path: string;
}

export type RequestInfo = ResourceRequest | PathRequest;

/**
 * The grammar of Kubernetes URLs:
 *
 *     /api/VERSION/…  or  /apis/GROUP/VERSION/…  followed by
 *     [namespaces/NAMESPACE/] PLURAL [/NAME [/SUBRESOURCE [/REST]]]
 *
 * and optionally `watch/` before that, a deprecated form of a watch request. `namespaces/NAME[/SUBRESOURCE]` alone is the
 * namespace itself. Undefined when a segment is not valid percent-encoding.
 */
export function parseRequest(
  kinds: Pick<KindRegistry, "find">,
  method: string,
  path: string,
  query: URLSearchParams | undefined,
): RequestInfo | undefined {
  const segments = splitPath(path);
  if (!segments) return undefined;
  const prefix = segments[0];
  const rootLength = prefix === "api" ? 2 : prefix === "apis" ? 3 : 0;
  // Resources have no other methods, apart from proxies.
  const onlyProxied = proxyMethods.has(method);
  if (rootLength === 0 || segments.length <= rootLength || !(methods.has(method) || onlyProxied))
    return { kind: "path", verb: method.toLowerCase(), path };

  const group = prefix === "api" ? "" : (segments[1] ?? "");
  const version = segments[rootLength - 1] ?? "";
  let at = rootLength;
  const oldWatch = segments[at] === "watch" && segments.length > at + 1;
  if (oldWatch) at++;

  let namespace = "";
  const isNamespaceItself =
    segments[at] === "namespaces" &&
    (segments.length <= at + 2 || namespaceSubresources.has(segments[at + 2] ?? ""));
  if (segments[at] === "namespaces") {
    namespace = segments[at + 1] ?? "";
    if (!isNamespaceItself) at += 2;
  }
  const plural = segments[at] ?? "";
  const name = segments[at + 1] ?? "";
  if (onlyProxied && segments[at + 2] !== "proxy") return { kind: "path", verb: method.toLowerCase(), path };
  // The path of one object is always a get: a watch of one object is a list with a field selector.
  const watching = oldWatch || (name === "" && isTrue(query?.get("watch")));
  return {
    kind: "resource",
    verb: verbOf(method, { hasName: name !== "", watching }),
    group,
    version,
    plural,
    namespace,
    name,
    subresource: segments[at + 2] ?? "",
    rest: segments.length > at + 3 ? segments.slice(at + 3).join("/") : "",
    definition: kinds.find({ group, version, plural }),
    path,
  };
}

const methods = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);
const proxyMethods = new Set(["HEAD", "OPTIONS"]);

const namespaceSubresources = new Set(["status", "finalize"]);

/** Hand-written, because `split` and `filter` are slower and every request is parsed here. */
function splitPath(path: string): string[] | undefined {
  const segments: string[] = [];
  for (let start = 0; start < path.length; ) {
    const slash = path.indexOf("/", start);
    const end = slash === -1 ? path.length : slash;
    if (end > start) segments.push(path.slice(start, end));
    start = end + 1;
  }
  if (!path.includes("%")) return segments;
  try {
    return segments.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

function verbOf(method: string, facts: { hasName: boolean; watching: boolean }): Verb {
  switch (method) {
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return facts.hasName ? "delete" : "deletecollection";
    case "OPTIONS":
      return "";
    default:
      if (facts.watching) return "watch";
      return facts.hasName ? "get" : "list";
  }
}

/** Value of a boolean query parameter. As upstream, everything but `false` and `0` is true. */
export function isTrue(value: string | null | undefined): boolean {
  return value !== null && value !== undefined && value !== "false" && value !== "0";
}

export const noQuery = new URLSearchParams();

export function splitUrl(url: string): { path: string; query: URLSearchParams } {
  const mark = url.indexOf("?");
  if (mark === -1) return { path: url, query: noQuery };
  return { path: url.slice(0, mark), query: new URLSearchParams(url.slice(mark + 1)) };
}

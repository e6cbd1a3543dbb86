import { type FunctionDeclaration, fn, type Implementation, member, nameType } from "../functions.ts";
import { structType } from "../type.ts";
import { CelError, CelObject, EntryMap, list, type Value } from "../values.ts";

export const urlType = nameType("url", structType("kubernetes.URL"));

/** Parts of a URL as Go's net/url splits it. */
interface UrlParts {
  readonly scheme: string;
  readonly user: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

class UrlValue extends CelObject {
  readonly type = urlType;
  readonly text: string;
  readonly parts: UrlParts;

  constructor(text: string, parts: UrlParts) {
    super();
    this.text = text;
    this.parts = parts;
  }

  equals(other: CelObject): boolean {
    return other instanceof UrlValue && other.text === this.text;
  }
}

/** Parses an absolute URL or path, as a request has it. Returns the detail of an error. */
function parseUrl(text: string): UrlParts | string {
  if (text === "") return "empty url";
  if ([...text].some((character) => character < " " || character === "\x7f"))
    return "net/url: invalid control character in URL";
  const [, scheme = ""] = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text) ?? [];
  if (text.startsWith(":")) return "missing protocol scheme";
  const afterScheme = scheme ? text.slice(scheme.length + 1) : text;
  const [beforeFragment = ""] = afterScheme.split("#", 1);
  const question = beforeFragment.indexOf("?");
  const rest = question < 0 ? beforeFragment : beforeFragment.slice(0, question);
  const query = question < 0 ? "" : beforeFragment.slice(question + 1);
  if (!rest.startsWith("/")) {
    if (scheme) return { scheme: scheme.toLowerCase(), user: "", host: "", path: "", query };
    return "invalid URI for request";
  }
  const hasAuthority = scheme !== "" && rest.startsWith("//");
  const slash = hasAuthority ? rest.indexOf("/", 2) : 0;
  const authority = hasAuthority ? rest.slice(2, slash < 0 ? undefined : slash) : "";
  const path = hasAuthority ? (slash < 0 ? "" : rest.slice(slash)) : rest;
  const at = authority.lastIndexOf("@");
  const host = authority.slice(at + 1);
  const problem =
    hostProblem(host) ?? escapeProblem(path) ?? escapeProblem(authority.slice(0, Math.max(0, at)));
  return (
    problem ?? { scheme: scheme.toLowerCase(), user: authority.slice(0, Math.max(0, at)), host, path, query }
  );
}

function hostProblem(host: string): string | undefined {
  if (host.startsWith("[")) {
    const end = host.lastIndexOf("]");
    if (end < 0) return "missing ']' in host";
    return portProblem(host.slice(end + 1));
  }
  const colon = host.lastIndexOf(":");
  const port = colon < 0 ? undefined : portProblem(host.slice(colon));
  if (port) return port;
  const invalid = /[ "<>\\^`{|}]/.exec(host)?.[0];
  return invalid === undefined ? undefined : `invalid character ${JSON.stringify(invalid)} in host name`;
}

function portProblem(port: string): string | undefined {
  return port === "" || /^:\d*$/.test(port) ? undefined : `invalid port ${JSON.stringify(port)} after host`;
}

function escapeProblem(text: string): string | undefined {
  const at = text.search(/%(?![0-9a-fA-F]{2})/);
  return at < 0 ? undefined : `invalid URL escape ${JSON.stringify(text.slice(at, at + 3))}`;
}

/** The path with all characters escaped that Go escapes. */
function escapedPath(path: string): string {
  return encodeURI(path)
    .replace(/%25(?=[0-9a-fA-F]{2})/g, "%")
    .replace(/[?#]/g, encodeURIComponent);
}

function parseQuery(query: string): EntryMap {
  const values = new Map<string, string[]>();
  for (const pair of query.split("&")) {
    if (pair === "" || pair.includes(";")) continue;
    const equals = pair.indexOf("=");
    const decode = (text: string) => {
      try {
        return decodeURIComponent(text.replaceAll("+", " "));
      } catch {
        return undefined;
      }
    };
    const key = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = decode(equals < 0 ? "" : pair.slice(equals + 1));
    if (key !== undefined && value !== undefined) values.set(key, [...(values.get(key) ?? []), value]);
  }
  const map = new EntryMap();
  for (const [key, items] of values) map.set(key, list(items));
  return map;
}

function toUrl(text: string): Value {
  const parts = parseUrl(text);
  return typeof parts === "string"
    ? new CelError(`URL parse error during conversion from string: parse ${JSON.stringify(text)}: ${parts}`)
    : new UrlValue(text, parts);
}

/** Problem of a URI. Undefined if it is valid. */
export function uriProblem(text: string): string | undefined {
  const parts = parseUrl(text);
  return typeof parts === "string" ? `parse ${JSON.stringify(text)}: ${parts}` : undefined;
}

const part =
  (read: (parts: UrlParts) => Value): Implementation =>
  ([url]) =>
    read((url as UrlValue).parts);

const hostname = ({ host }: UrlParts) => {
  const name = host.replace(/:\d*$/, "");
  return name.startsWith("[") ? name.slice(1, -1) : name;
};

/** Kubernetes' functions for URLs. */
export const urlFunctions: readonly FunctionDeclaration[] = [
  fn("url", ["string_to_url", "string -> url", ([text]) => toUrl(text as string)]),
  fn("isURL", ["is_url_string", "string -> bool", ([text]) => typeof parseUrl(text as string) !== "string"]),
  member("getScheme", ["url_get_scheme", "url -> string", part(({ scheme }) => scheme)]),
  member("getHost", ["url_get_host", "url -> string", part(({ host }) => host)]),
  member("getHostname", ["url_get_hostname", "url -> string", part(hostname)]),
  member("getPort", ["url_get_port", "url -> string", part(({ host }) => /:(\d*)$/.exec(host)?.[1] ?? "")]),
  member("getEscapedPath", ["url_get_escaped_path", "url -> string", part(({ path }) => escapedPath(path))]),
  member("getQuery", [
    "url_get_query",
    "url -> map(string, list(string))",
    part(({ query }) => parseQuery(query)),
  ]),
];

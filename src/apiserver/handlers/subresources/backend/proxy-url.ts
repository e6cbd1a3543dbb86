/**
 * Splits the URL of a request for a proxy. The path for the backend is not decoded, which could change its meaning. It is
 * empty if nothing follows `proxy`.
 */
export function splitProxyUrl(url: string): { prefix: string; path: string; query: string } {
  const [prefix = ""] = /^\/+api\/v1\/(?:namespaces\/[^/?]+\/)?[a-z]+\/[^/?]+\/proxy/.exec(url) ?? [];
  const rest = url.slice(prefix.length);
  const mark = rest.indexOf("?");
  return mark === -1
    ? { prefix, path: rest, query: "" }
    : { prefix, path: rest.slice(0, mark), query: rest.slice(mark) };
}

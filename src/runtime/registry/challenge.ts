/** What a registry asks for in `WWW-Authenticate`. */
export type Challenge =
  | { readonly kind: "basic" }
  | { readonly kind: "bearer"; readonly realm: string; readonly service?: string; readonly scope?: string };

/** Longer than any that a registry has reason to send. */
const mostCharacters = 4_096;

/** The strongest challenge of the header that we can answer: a token before a password. */
export function parseChallenge(header: string | undefined): Challenge | undefined {
  if (!header || header.length > mostCharacters) return undefined;
  const bearer = /(?:^|,)\s*bearer\s+(.*)$/is.exec(header);
  if (bearer?.[1] !== undefined) {
    const parameters = parseParameters(bearer[1]);
    const realm = parameters.get("realm");
    if (realm) {
      return { kind: "bearer", realm, service: parameters.get("service"), scope: parameters.get("scope") };
    }
  }
  return /(?:^|,)\s*basic\b/i.test(header) ? { kind: "basic" } : undefined;
}

function parseParameters(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, name = "", quoted, bare] of text.matchAll(
    /([a-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))/gi,
  )) {
    const key = name.toLowerCase();
    if (!found.has(key)) found.set(key, quoted?.replace(/\\(.)/g, "$1") ?? bare ?? "");
  }
  return found;
}

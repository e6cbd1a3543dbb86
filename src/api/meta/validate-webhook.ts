import type { FieldErrors } from "./field-errors.ts";
import { dnsSubdomainProblems } from "./names.ts";

/** Validates the URL of a webhook, the field `url`. */
export function validateWebhookUrl(url: string, at: FieldErrors): void {
  const form = "; desired format: https://host[/path]";
  if (!URL.canParse(url)) {
    at.required("url", `url must be a valid URL: parse ${JSON.stringify(url)}: invalid URL${form}`);
    return;
  }
  const { protocol, hostname, username, password, search, hash } = new URL(url);
  if (protocol !== "https:")
    at.invalid("url", protocol.slice(0, -1), `'https' is the only allowed URL scheme${form}`);
  if (hostname === "") at.invalid("url", hostname, `host must be specified${form}`);
  if (username || password)
    at.invalid(
      "url",
      password ? `${username}:${password}` : username,
      "user information is not permitted in the URL",
    );
  if (hash) at.invalid("url", hash.slice(1), "fragments are not permitted in the URL");
  if (search) at.invalid("url", search.slice(1), "query parameters are not permitted in the URL");
}

/** Validates the reference to the service of a webhook. As upstream, errors about name and namespace are exchanged. */
export function validateWebhookService(
  { name, namespace, path, port }: { name?: string; namespace?: string; path?: string; port?: number },
  at: FieldErrors,
): void {
  if (!namespace) at.required("name");
  if (!name) at.required("namespace");
  if (port !== undefined && (port < 1 || port > 65_535))
    at.invalid("port", port, "port is not valid: must be between 1 and 65535, inclusive");
  if (!path || path === "/") return;
  if (path === "//") {
    at.invalid("path", path, "segment[0] may not be empty");
    return;
  }
  if (!path.startsWith("/")) at.invalid("path", path, "must start with a '/'");
  const checked = path.slice(1);
  const segments = (checked.endsWith("/") ? checked.slice(0, -1) : checked).split("/");
  for (const [i, segment] of segments.entries()) {
    if (segment === "") at.invalid("path", path, `segment[${i}] may not be empty`);
    else
      at.problems(
        "path",
        path,
        dnsSubdomainProblems(segment).map((problem) => `segment[${i}]: ${problem}`),
      );
  }
}

import type { Conversion, CustomResourceDefinition } from "../../../custom/custom-resource-definition.ts";
import type { FieldErrors } from "../../../meta/field-errors.ts";
import { dns1035LabelProblems, dnsSubdomainProblems } from "../../../meta/names.ts";

const reviewVersions = ["v1", "v1beta1"];

/** Validates the conversion between versions. Upstream's paths are those of its internal types. */
export function validateConversion(
  { strategy, webhook }: Conversion,
  current: CustomResourceDefinition | undefined,
  at: FieldErrors,
): void {
  at.requiredOneOf("strategy", strategy, ["None", "Webhook"]);
  if (strategy !== "Webhook") {
    const detail = "should not be set when strategy is not set to Webhook";
    if (webhook?.clientConfig) at.forbidden("webhookClientConfig", detail);
    if (webhook?.conversionReviewVersions?.length) at.forbidden("conversionReviewVersions", detail);
    return;
  }
  const config = webhook?.clientConfig;
  if (!config) at.required("webhookClientConfig", "required when strategy is set to Webhook");
  else if ((config.url === undefined) === (config.service === undefined))
    at.required("webhookClientConfig", "exactly one of url or service is required");
  else if (config.url !== undefined) validateUrl(config.url, at.child("webhookClientConfig"));
  else if (config.service) validateService(config.service, at.child("webhookClientConfig.service"));
  validateReviewVersions(webhook?.conversionReviewVersions ?? [], current, at);
}

function validateUrl(url: string, at: FieldErrors): void {
  const form = "; desired format: https://host[/path]";
  if (!URL.canParse(url)) {
    at.required("url", `url must be a valid URL: parse ${JSON.stringify(url)}: invalid URL${form}`);
    return;
  }
  const { protocol, hostname, username, password, search, hash } = new URL(url);
  if (protocol !== "https:")
    at.invalid("url", protocol.slice(0, -1), `'https' is the only allowed URL scheme${form}`);
  if (hostname === "") at.invalid("url", hostname, `host must be specified${form}`);
  if (username || password) at.invalid("url", username, "user information is not permitted in the URL");
  if (hash) at.invalid("url", hash.slice(1), "fragments are not permitted in the URL");
  if (search) at.invalid("url", search.slice(1), "query parameters are not permitted in the URL");
}

function validateService(
  { name, namespace, path, port }: { name?: string; namespace?: string; path?: string; port?: number },
  at: FieldErrors,
): void {
  if (!name) at.required("name");
  if (!namespace) at.required("namespace");
  if (port !== undefined && (port < 1 || port > 65_535))
    at.invalid("port", port, "port is not valid: must be between 1 and 65535, inclusive");
  if (!path || path === "/") return;
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

function validateReviewVersions(
  versions: readonly string[],
  current: CustomResourceDefinition | undefined,
  at: FieldErrors,
): void {
  const field = "conversionReviewVersions";
  if (versions.length === 0) at.required(field);
  const seen = new Set<string>();
  versions.forEach((version, i) => {
    if (seen.has(version)) at.invalid(`${field}[${i}]`, version, "duplicate version");
    else at.problems(`${field}[${i}]`, version, dns1035LabelProblems(version));
    seen.add(version);
  });
  const before = current?.spec.conversion?.webhook?.conversionReviewVersions ?? [];
  const wasRecognized = before.length === 0 || before.some((version) => reviewVersions.includes(version));
  if (versions.length > 0 && wasRecognized && !versions.some((version) => reviewVersions.includes(version)))
    at.invalid(field, versions, `must include at least one of ${reviewVersions.join(", ")}`);
}

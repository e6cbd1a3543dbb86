import type { Conversion, CustomResourceDefinition } from "../../../custom/custom-resource-definition.ts";
import type { FieldErrors } from "../../../meta/field-errors.ts";
import { dns1035LabelProblems } from "../../../meta/names.ts";
import { validateWebhookService, validateWebhookUrl } from "../../../meta/validate-webhook.ts";

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
  else if (config.url !== undefined) validateWebhookUrl(config.url, at.child("webhookClientConfig"));
  else if (config.service) validateWebhookService(config.service, at.child("webhookClientConfig.service"));
  validateReviewVersions(webhook?.conversionReviewVersions ?? [], current, at);
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

import type { CustomResourceDefinition } from "../../../custom/custom-resource-definition.ts";
import type { FieldErrors } from "../../../meta/field-errors.ts";

const annotation = "api-approved.kubernetes.io";

/** Requires an approval for definitions in the groups of the Kubernetes project (`*.k8s.io`, `*.kubernetes.io`). */
export function validateApiApproval(
  definition: CustomResourceDefinition,
  current: CustomResourceDefinition | undefined,
  at: FieldErrors,
): void {
  const { group } = definition.spec;
  if (!/(^|\.)(k8s\.io|kubernetes\.io)$/.test(group ?? "")) return;
  const value = definition.metadata.annotations?.[annotation];
  const before = current?.metadata.annotations?.[annotation];
  if (current && isApproved(before) === isApproved(value)) return;
  const field = `metadata.annotations[${annotation}]`;
  if (value === undefined)
    at.required(
      field,
      `protected groups must have approval annotation "${annotation}", see https://github.com/kubernetes/enhancements/pull/1111`,
    );
  else if (!isApproved(value))
    at.invalid(
      field,
      value,
      `protected groups must have approval annotation "${annotation}" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111`,
    );
}

function isApproved(value: string | undefined): boolean {
  return value?.startsWith("unapproved") || (value !== undefined && /^https?:\/\/[^/]+/.test(value));
}

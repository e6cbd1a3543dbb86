import type { FieldErrors } from "../../meta/field-errors.ts";
import type { JobSpec } from "../../meta/objects.ts";
import { validateDomainPrefixedPath } from "../../meta/validate-path.ts";
import { validatePodTemplate } from "../../pod/validation/pod.ts";
import { podTemplateWarnings } from "../../pod/validation/pod-warnings.ts";
import { validatePodFailurePolicy, validateSuccessPolicy } from "./job-policies.ts";

/** Limits of an Indexed Job, whose status lists indexes. */
const maxParallelism = 100_000;
const maxFailedIndexes = 100_000;
/** Completions above which lower limits apply. */
const manyCompletions = 100_000;
const limitForManyCompletions = 10_000;
const maxManagedByLength = 63;

const nonNegativeFields = [
  "parallelism",
  "completions",
  "activeDeadlineSeconds",
  "backoffLimit",
  "ttlSecondsAfterFinished",
  "backoffLimitPerIndex",
  "maxFailedIndexes",
] as const satisfies readonly (keyof JobSpec)[];

/** Validates the fields that Jobs and the templates of CronJobs share: all but the selector. */
export function validateJobSpec(spec: JobSpec, at: FieldErrors): void {
  for (const field of nonNegativeFields) at.nonNegative(field, spec[field]);
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined)
    at.required("backoffLimitPerIndex", "when maxFailedIndexes is specified");
  if (spec.managedBy !== undefined) {
    validateDomainPrefixedPath("managedBy", spec.managedBy, at);
    if (spec.managedBy.length > maxManagedByLength) at.tooLong("managedBy", maxManagedByLength);
  }
  validateCompletionMode(spec, at);
  if (spec.podFailurePolicy)
    validatePodFailurePolicy(spec.podFailurePolicy, spec, at.child("podFailurePolicy"));
  if (spec.successPolicy) {
    if (spec.completionMode === "Indexed")
      validateSuccessPolicy(spec.successPolicy, spec.completions ?? 0, at.child("successPolicy"));
    else at.invalid("successPolicy", spec.successPolicy, "requires indexed completion mode");
  }
  const replacementPolicies = spec.podFailurePolicy ? ["Failed"] : ["Failed", "TerminatingOrFailed"];
  at.oneOf("podReplacementPolicy", spec.podReplacementPolicy, replacementPolicies);
  validatePodTemplate(spec.template ?? {}, at.child("template"));
  validateRestartPolicy(spec, at);
}

function validateCompletionMode(spec: JobSpec, at: FieldErrors): void {
  const { completionMode = "NonIndexed", completions, backoffLimitPerIndex } = spec;
  at.oneOf("completionMode", completionMode, ["NonIndexed", "Indexed"]);
  if (completionMode === "NonIndexed") {
    for (const field of ["backoffLimitPerIndex", "maxFailedIndexes"] as const) {
      if (spec[field] !== undefined) at.invalid(field, spec[field], "requires indexed completion mode");
    }
  }
  if (completionMode !== "Indexed") return;
  const atMost = (field: "parallelism" | "maxFailedIndexes", max: number, when = "") => {
    const value = spec[field] ?? 0;
    if (value > max) at.invalid(field, value, `must be less than or equal to ${max}${when}`);
  };
  if (completions === undefined) at.required("completions", "when completion mode is Indexed");
  atMost("parallelism", maxParallelism, " when completion mode is Indexed");
  if (completions !== undefined && (spec.maxFailedIndexes ?? 0) > completions)
    at.invalid("maxFailedIndexes", spec.maxFailedIndexes, "must be less than or equal to completions");
  atMost("maxFailedIndexes", maxFailedIndexes);
  if (completions === undefined || completions <= manyCompletions || backoffLimitPerIndex === undefined)
    return;
  if (spec.maxFailedIndexes === undefined)
    at.required("maxFailedIndexes", `must be specified when completions is above ${manyCompletions}`);
  const when = ` when completions are above ${manyCompletions} and used with backoff limit per index`;
  atMost("parallelism", limitForManyCompletions, when);
  atMost("maxFailedIndexes", limitForManyCompletions, when);
}

function validateRestartPolicy({ template, podFailurePolicy }: JobSpec, at: FieldErrors): void {
  const field = "template.spec.restartPolicy";
  const policy = template?.spec?.restartPolicy ?? "";
  if (policy === "" || policy === "Always") at.required(field, 'valid values: "OnFailure", "Never"');
  else if (policy !== "OnFailure" && policy !== "Never")
    at.notSupported(field, policy, ["OnFailure", "Never"]);
  else if (podFailurePolicy && policy !== "Never")
    at.invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified');
}

/** Warnings about a Job in the given field. */
export function jobSpecWarnings(
  { completionMode, completions = 0, ...spec }: JobSpec,
  field: string,
): string[] {
  const warnings: string[] = [];
  const isLarge = completions > manyCompletions && (spec.parallelism ?? 0) > limitForManyCompletions;
  if (completionMode === "Indexed" && isLarge) {
    warnings.push(
      `${field}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, ` +
        "Kubernetes might not be able to track completedIndexes when a big number of indexes fail",
    );
  }
  return [...warnings, ...podTemplateWarnings(spec.template, `${field}.template`)];
}

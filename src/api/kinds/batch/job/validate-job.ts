import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { isEqual } from "../../../meta/is-equal.ts";
import { dnsLabelProblems } from "../../../meta/names.ts";
import { isTrue } from "../../../meta/object-facts.ts";
import type { Container, Job, JobSpec, PodSpec } from "../../../meta/objects.ts";
import { type LabelSelector, labelSelectorOf, matchesLabels } from "../../../meta/selector.ts";
import { validateLabelSelector } from "../../../meta/validate-metadata.ts";
import type { PodTemplate } from "../../../pod/defaults/pod.ts";
import { validateJobSpec } from "../job-spec.ts";

/** Labels that identify the pods of a Job. The names without a domain are those of older releases. */
export const jobLabels = {
  uid: "batch.kubernetes.io/controller-uid",
  name: "batch.kubernetes.io/job-name",
  legacyUid: "controller-uid",
  legacyName: "job-name",
} as const;

const noSpec: JobSpec = { template: {} };

export function validateJob(job: Job): FieldError[] {
  return validate(job, { requirePrefixedLabels: true });
}

function validate(job: Job, labels: { readonly requirePrefixedLabels: boolean }): FieldError[] {
  const at = new FieldErrors("");
  const { spec = noSpec, metadata } = job;
  validateGeneratedSelector(job, labels, at);
  const place = at.child("spec");
  validateJobSpec(spec, place);
  if (!spec.selector) place.required("selector");
  validateLabelSelector(spec.selector, place.child("selector"));
  const selector = validSelectorOf(spec);
  const podLabels = spec.template?.metadata?.labels;
  if (selector && !matchesLabels(selector, podLabels)) {
    const detail = "`selector` does not match template `labels`";
    place.invalid("template.metadata.labels", podLabels ?? null, detail);
  }
  if (spec.completionMode === "Indexed" && (spec.completions ?? 0) > 0) {
    const hostname = `${metadata.name}-${(spec.completions ?? 0) - 1}`;
    if (dnsLabelProblems(hostname).length > 0) {
      const detail = `will not able to create pod with invalid DNS label: ${hostname}`;
      at.invalid("metadata.name", metadata.name, detail);
    }
  }
  return at.errors;
}

/** Validates that a generated selector, and the labels of the template, identify this Job only. */
function validateGeneratedSelector(
  { metadata: { uid = "", name = "" }, spec }: Job,
  { requirePrefixedLabels }: { readonly requirePrefixedLabels: boolean },
  at: FieldErrors,
): void {
  if (spec?.manualSelector || !spec?.selector) return;
  if (uid === "") at.required("metadata.uid");
  const expected: Record<string, string> = {
    [jobLabels.legacyUid]: uid,
    [jobLabels.legacyName]: name,
    ...(requirePrefixedLabels && { [jobLabels.uid]: uid, [jobLabels.name]: name }),
  };
  const labels = spec.template?.metadata?.labels;
  for (const [key, value] of Object.entries(expected)) {
    const field = `spec.template.metadata.labels[${key}]`;
    if (labels?.[key] === undefined) at.required(field, `must be '${value}'`);
    else if (labels[key] !== value) at.invalid(field, labels, `must be '${value}'`);
  }
  const selector = validSelectorOf(spec);
  if (selector && !matchesLabels(selector, expected))
    at.invalid("spec.selector", spec.selector, "`selector` not auto-generated");
}

/** Selector of the spec. Undefined if it is missing or invalid, which is reported for its own fields. */
function validSelectorOf({ selector }: JobSpec): LabelSelector | undefined {
  const errors = new FieldErrors("");
  validateLabelSelector(selector, errors);
  return errors.errors.length === 0 ? labelSelectorOf(selector) : undefined;
}

const immutableFields = [
  "completionMode",
  "podFailurePolicy",
  "backoffLimitPerIndex",
  "managedBy",
  "successPolicy",
] as const satisfies readonly (keyof JobSpec)[];

export function validateJobUpdate(next: Job, current: Job): FieldError[] {
  const at = new FieldErrors("spec");
  const { spec = noSpec } = next;
  const { spec: old = noSpec } = current;
  const oldLabels = old.template?.metadata?.labels ?? {};
  const requirePrefixedLabels = jobLabels.uid in oldLabels && jobLabels.name in oldLabels;
  validateCompletionsUpdate(spec, old, at);
  if (!isEqual(spec.selector, old.selector)) at.invalid("selector", spec.selector, "field is immutable");
  validateTemplateUpdate(spec, current, at);
  for (const field of immutableFields) {
    if (!isEqual(spec[field], old[field])) at.invalid(field, spec[field] ?? null, "field is immutable");
  }
  return [...validate(next, { requirePrefixedLabels }), ...at.errors];
}

/** The completions of an Indexed Job may change together with its parallelism. */
function validateCompletionsUpdate(spec: JobSpec, old: JobSpec, at: FieldErrors): void {
  const { completions, parallelism } = spec;
  if (completions === old.completions) return;
  if (spec.completionMode !== "Indexed") at.invalid("completions", completions ?? null, "field is immutable");
  else if (completions !== undefined && completions !== parallelism)
    at.invalid("completions", completions, "can only be modified in tandem with spec.parallelism");
}

/** A suspended Job without pods may change where its pods are scheduled, and the resources of its containers. */
function validateTemplateUpdate(spec: JobSpec, current: Job, at: FieldErrors): void {
  const { spec: old = noSpec, status } = current;
  const isSuspended = old.suspend === true;
  const isIdle = status?.startTime === undefined || isTrue(current, "Suspended");
  const template = spec.template ?? {};
  const oldTemplate = old.template ?? {};
  if (!isSuspended || !isIdle || (status?.active ?? 0) > 0) {
    if (!isEqual(template, oldTemplate)) at.invalid("template", template, "field is immutable");
    return;
  }
  const allowed = withResourcesOf(withSchedulingOf(oldTemplate, template), template);
  if (!isEqual(template.spec, allowed))
    at.invalid("template.spec", template.spec ?? null, "field is immutable");
}

const schedulingFields = ["nodeSelector", "tolerations", "schedulingGates"] as const;

/** Spec of the template with the node affinity, node selector, tolerations and scheduling gates of `next`. */
function withSchedulingOf({ spec: old }: PodTemplate, { spec: next }: PodTemplate): PodSpec {
  const result: PodSpec = { containers: [], ...old };
  for (const field of schedulingFields) setOrDelete(result, field, next?.[field]);
  const affinity = { ...old?.affinity };
  setOrDelete(affinity, "nodeAffinity", next?.affinity?.nodeAffinity);
  const isCleared = !next?.affinity && Object.keys(affinity).length === 0;
  setOrDelete(result, "affinity", isCleared || (!next?.affinity && !old?.affinity) ? undefined : affinity);
  return result;
}

function withResourcesOf(old: PodSpec, { spec: next }: PodTemplate): PodSpec {
  const copy = (from: readonly Container[] = [], to: readonly Container[] = []) =>
    from.map((container, i) => {
      const other = to[i];
      if (from.length !== to.length || !other || other.name !== container.name) return container;
      const copied = { ...container };
      setOrDelete(copied, "resources", other.resources);
      return copied;
    });
  const result = { ...old, containers: copy(old.containers, next?.containers) };
  if (old.initContainers) result.initContainers = copy(old.initContainers, next?.initContainers);
  return result;
}

function setOrDelete<T extends object, K extends keyof T>(
  target: T,
  field: K,
  value: T[K] | undefined,
): void {
  if (value === undefined) delete target[field];
  else target[field] = value;
}

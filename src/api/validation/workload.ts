import type * as k8s from "@kubernetes/client-node";
import type { PodTemplate } from "../defaults/pod-template.ts";
import { percentProblems } from "../names.ts";
import { labelSelectorOf, matchesLabels } from "../selector.ts";
import { validateLabelSelector } from "./labels.ts";
import { validatePodTemplate } from "./pod.ts";
import { Report } from "./report.ts";

/** The selector of a kind that makes pods, and the template of those pods, which it must select. */
export function validateSelectorAndTemplate(
  spec: { selector?: k8s.V1LabelSelector; template: PodTemplate },
  at: Report,
  names: { readonly emptySelector: string; readonly deadline: string; readonly unreadable: string },
): void {
  const { selector, template } = spec;
  if (!selector) at.required("selector");
  else {
    validateLabelSelector(selector, at.child("selector"));
    if (isEmptySelector(selector)) {
      at.invalid("selector", selector, `empty selector is invalid for ${names.emptySelector}`);
    }
  }
  if (selector && !isReadableSelector(selector)) at.invalid("selector", selector, names.unreadable);
  else {
    const labels = template?.metadata?.labels;
    // What selects nothing at all does not select this template either.
    const requirements = labelSelectorOf(selector);
    const matches = requirements && (isEmptySelector(selector) || matchesLabels(requirements, labels));
    if (!matches) {
      const detail = "`selector` does not match template `labels`";
      at.invalid("template.metadata.labels", labels ?? null, detail);
    }
    validatePodTemplate(template, at.child("template"));
  }
  const podSpec = template?.spec;
  if (podSpec?.restartPolicy !== "Always") {
    at.notSupported("template.spec.restartPolicy", podSpec?.restartPolicy ?? "", ["Always"]);
  }
  if (podSpec?.activeDeadlineSeconds !== undefined) {
    const detail = `activeDeadlineSeconds in ${names.deadline} is not Supported`;
    at.forbidden("template.spec.activeDeadlineSeconds", detail);
  }
}

function isEmptySelector(selector: k8s.V1LabelSelector | undefined): boolean {
  return (
    selector !== undefined &&
    Object.keys(selector.matchLabels ?? {}).length === 0 &&
    !selector.matchExpressions?.length
  );
}

/** Whether it is clear what is selected, allowed or not. */
function isReadableSelector(selector: k8s.V1LabelSelector): boolean {
  const check = new Report("");
  validateLabelSelector(selector, check);
  return check.errors.length === 0;
}

/** `3` or `25%`. */
export type IntOrPercent = number | string;

export function validateIntOrPercent(field: string, value: IntOrPercent, at: Report): void {
  if (typeof value === "number") at.nonNegative(field, value);
  else at.problems(field, value, percentProblems(value));
}

export function validateAtMost100Percent(field: string, value: IntOrPercent, at: Report): void {
  if (typeof value === "string" && valueOfIntOrPercent(value) > 100) {
    at.invalid(field, value, "must not be greater than 100%");
  }
}

export function valueOfIntOrPercent(value: IntOrPercent): number {
  if (typeof value === "number") return value;
  return percentProblems(value).length === 0 ? Number(value.slice(0, -1)) : 0;
}

interface ReplicaCounts {
  readonly [field: string]: number | undefined;
}

/** Of all replicas so many are this or that: never more than there are. */
export function validateReplicaCounts(
  counts: ReplicaCounts,
  at: Report,
  { readyName }: { readonly readyName: string },
): void {
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = counts;
  for (const [field, count = 0] of Object.entries(counts)) {
    at.nonNegative(field, count);
    if (count > replicas) at.invalid(field, count, "cannot be greater than status.replicas");
  }
  if (availableReplicas > readyReplicas) {
    at.invalid("availableReplicas", availableReplicas, `cannot be greater than ${readyName}`);
  }
}

export function validateNotDecremented(
  field: string,
  { next, current }: { readonly next: number | undefined; readonly current: number | undefined },
  at: Report,
): void {
  if (current !== undefined && (next ?? -1) < current) at.invalid(field, next ?? 0, "cannot be decremented");
}

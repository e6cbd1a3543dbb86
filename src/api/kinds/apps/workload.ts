import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../meta/field-errors.ts";
import { isEqual } from "../../meta/is-equal.ts";
import { percentProblems } from "../../meta/names.ts";
import type { KubeObject, PodSpec, Scale, StatefulSet, Wire } from "../../meta/objects.ts";
import { labelSelectorOf, matchesLabels } from "../../meta/selector.ts";
import { validateLabelSelector } from "../../meta/validate-metadata.ts";
import { defaultPodTemplate, type PodTemplate } from "../../pod/defaults/pod.ts";
import { defaultClaim } from "../../pod/defaults/volume.ts";
import { validatePodTemplate } from "../../pod/validation/pod.ts";
import { ageColumn, type Column, column, integerColumn, wideColumn } from "../columns.ts";

type Replicated = KubeObject & {
  spec?: { replicas?: number; template?: { spec?: PodSpec } };
  status?: { replicas?: number; readyReplicas?: number };
};

export const desiredReplicas = ({ spec }: Replicated) => spec?.replicas ?? 0;
export const currentReplicas = ({ status }: Replicated) => status?.replicas ?? 0;
export const readyReplicas = ({ status }: Replicated) => status?.readyReplicas ?? 0;
const containersOf = ({ spec }: Replicated) => spec?.template?.spec?.containers ?? [];

export const readyColumn = column(
  "Ready",
  "Replicas that are ready, of those wanted",
  (object: Replicated) => `${readyReplicas(object)}/${desiredReplicas(object)}`,
);
export const containersColumn = wideColumn(
  "Containers",
  "Containers of the pod template",
  (object: Replicated) =>
    containersOf(object)
      .map(({ name }) => name)
      .join(","),
);
export const imagesColumn = wideColumn("Images", "Images of the pod template", (object: Replicated) =>
  containersOf(object)
    .map(({ image = "" }) => image)
    .join(","),
);

/** Columns of the scale subresource: `kubectl get deployment NAME --subresource=scale`. */
export const scaleColumns: readonly Column<Scale>[] = [
  column("Name", "Name of the scaled object", ({ metadata }) => metadata.name ?? ""),
  integerColumn("Desired", "Replicas that are wanted", desiredReplicas),
  integerColumn("Available", "Replicas that exist", currentReplicas),
  ageColumn,
];

export function defaultStatefulSet({ spec }: StatefulSet): void {
  if (!spec) return;
  spec.serviceName ??= "";
  spec.podManagementPolicy ||= "OrderedReady";
  spec.updateStrategy ??= {};
  if (!spec.updateStrategy.type) {
    spec.updateStrategy.type = "RollingUpdate";
    spec.updateStrategy.rollingUpdate ??= {};
  }
  // EnforcedRollingUpdate uses the parameters of RollingUpdate.
  if (isRolling(spec.updateStrategy.type) && spec.updateStrategy.rollingUpdate) {
    spec.updateStrategy.rollingUpdate.partition ??= 0;
  }
  spec.persistentVolumeClaimRetentionPolicy ??= {};
  spec.persistentVolumeClaimRetentionPolicy.whenDeleted ||= "Retain";
  spec.persistentVolumeClaimRetentionPolicy.whenScaled ||= "Retain";
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  defaultPodTemplate(spec.template);
  for (const claim of spec.volumeClaimTemplates ?? []) {
    claim.apiVersion ??= "v1";
    claim.kind ??= "PersistentVolumeClaim";
    defaultClaim(claim);
  }
}

function isRolling(type: string): boolean {
  return type === "RollingUpdate" || type === "EnforcedRollingUpdate";
}

export function defaultDeployment({ spec }: Wire<k8s.V1Deployment>): void {
  if (!spec) return;
  spec.replicas ??= 1;
  spec.strategy ??= {};
  spec.strategy.type ||= "RollingUpdate";
  if (spec.strategy.type === "RollingUpdate") {
    spec.strategy.rollingUpdate ??= {};
    spec.strategy.rollingUpdate.maxUnavailable ??= "25%";
    spec.strategy.rollingUpdate.maxSurge ??= "25%";
  }
  spec.revisionHistoryLimit ??= 10;
  spec.progressDeadlineSeconds ??= 600;
  defaultPodTemplate(spec.template);
}

export function defaultReplicaSet({ spec }: Wire<k8s.V1ReplicaSet>): void {
  if (!spec) return;
  spec.replicas ??= 1;
  defaultPodTemplate(spec.template);
}

/** Validates the selector and the pod template of a workload. The selector must match the template. */
export function validateSelectorAndTemplate(
  spec: { selector?: k8s.V1LabelSelector; template: PodTemplate },
  at: FieldErrors,
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
    // An empty selector matches nothing, so it does not match the template either.
    const requirements = labelSelectorOf(selector);
    const matches = requirements && (isEmptySelector(selector) || matchesLabels(requirements, labels));
    if (!matches) {
      const detail = "`selector` does not match template `labels`";
      at.invalid("template.metadata.labels", labels ?? null, detail);
    }
    validatePodTemplate(template, at.child("template"));
  }
  validateTemplateLifetime(template, at, names.deadline);
}

/** Pods of these workloads run until they are deleted: `owner` is the kind that the message names. */
export function validateTemplateLifetime(template: PodTemplate, at: FieldErrors, owner: string): void {
  const podSpec = template?.spec;
  if (podSpec?.restartPolicy !== "Always") {
    at.notSupported("template.spec.restartPolicy", podSpec?.restartPolicy ?? "", ["Always"]);
  }
  if (podSpec?.activeDeadlineSeconds !== undefined) {
    const detail = `activeDeadlineSeconds in ${owner} is not Supported`;
    at.forbidden("template.spec.activeDeadlineSeconds", detail);
  }
}

export function isEmptySelector(selector: k8s.V1LabelSelector | undefined): boolean {
  return (
    selector !== undefined &&
    Object.keys(selector.matchLabels ?? {}).length === 0 &&
    !selector.matchExpressions?.length
  );
}

/** Whether the selector can be evaluated, even if it is not allowed. */
export function isReadableSelector(selector: k8s.V1LabelSelector): boolean {
  const check = new FieldErrors("");
  validateLabelSelector(selector, check);
  return check.errors.length === 0;
}

/** `3` or `25%`. */
type IntOrPercent = number | string;

export function validateIntOrPercent(field: string, value: IntOrPercent, at: FieldErrors): void {
  if (typeof value === "number") at.nonNegative(field, value);
  else at.problems(field, value, percentProblems(value));
}

export function validateAtMost100Percent(field: string, value: IntOrPercent, at: FieldErrors): void {
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

/** Validates the replica counts of a status: none may exceed the number of replicas. */
export function validateReplicaCounts(
  counts: ReplicaCounts,
  at: FieldErrors,
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
  at: FieldErrors,
): void {
  if (current !== undefined && (next ?? -1) < current) at.invalid(field, next ?? 0, "cannot be decremented");
}

/** Names in validation messages. Upstream uses the same for Deployments and ReplicaSets. */
export const deploymentNames = {
  emptySelector: "deployment",
  deadline: "ReplicaSet",
  unreadable: "invalid label selector",
};

interface Selecting {
  readonly spec?: { readonly selector?: k8s.V1LabelSelector };
}

/** Rejects a changed selector: pods created for the old selector would become orphans. */
export function validateSelectorKept(next: Selecting, current: Selecting): FieldError[] {
  const at = new FieldErrors("spec");
  const selector = next.spec?.selector;
  if (!isEqual(selector, current.spec?.selector)) at.invalid("selector", selector, "field is immutable");
  return at.errors;
}

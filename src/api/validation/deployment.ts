import type * as k8s from "@kubernetes/client-node";
import type { FieldError } from "../field-error.ts";
import { isEqual } from "../is-equal.ts";
import type { Wire } from "../objects.ts";
import { Report } from "./report.ts";
import {
  validateAtMost100Percent,
  validateIntOrPercent,
  validateNotDecremented,
  validateReplicaCounts,
  validateSelectorAndTemplate,
  valueOfIntOrPercent,
} from "./workload.ts";

type Deployment = Wire<k8s.V1Deployment>;
type ReplicaSet = Wire<k8s.V1ReplicaSet>;

// Upstream uses these names for both kinds.
const names = { emptySelector: "deployment", deadline: "ReplicaSet", unreadable: "invalid label selector" };

export function validateDeployment({ spec }: Deployment): FieldError[] {
  const at = new Report("spec");
  if (!spec) {
    at.required("selector");
    return at.errors;
  }
  at.nonNegative("replicas", spec.replicas);
  validateSelectorAndTemplate(spec, at, names);
  validateStrategy(spec.strategy ?? {}, at.child("strategy"));
  at.nonNegative("minReadySeconds", spec.minReadySeconds);
  at.nonNegative("revisionHistoryLimit", spec.revisionHistoryLimit);
  const deadline = spec.progressDeadlineSeconds;
  at.nonNegative("progressDeadlineSeconds", deadline);
  if (deadline !== undefined && deadline <= (spec.minReadySeconds ?? 0)) {
    at.invalid("progressDeadlineSeconds", deadline, "must be greater than minReadySeconds");
  }
  return at.errors;
}

function validateStrategy(strategy: k8s.V1DeploymentStrategy, at: Report): void {
  const { type, rollingUpdate } = strategy;
  if (type === "Recreate") {
    if (rollingUpdate) {
      at.forbidden("rollingUpdate", "may not be specified when strategy `type` is 'Recreate'");
    }
  } else if (type !== "RollingUpdate") {
    const shown = { Type: type, RollingUpdate: rollingUpdate ?? null };
    at.notSupported("", shown, ["Recreate", "RollingUpdate"]);
  } else if (rollingUpdate) {
    const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate;
    validateIntOrPercent("rollingUpdate.maxUnavailable", maxUnavailable, at);
    validateIntOrPercent("rollingUpdate.maxSurge", maxSurge, at);
    if (valueOfIntOrPercent(maxUnavailable) === 0 && valueOfIntOrPercent(maxSurge) === 0) {
      at.invalid("rollingUpdate.maxUnavailable", maxUnavailable, "may not be 0 when `maxSurge` is 0");
    }
    validateAtMost100Percent("rollingUpdate.maxUnavailable", maxUnavailable, at);
  }
}

export function validateDeploymentUpdate(next: Deployment, current: Deployment): FieldError[] {
  return [...validateDeployment(next), ...validateSelectorKept(next, current)];
}

export function validateDeploymentStatusUpdate(next: Deployment, current: Deployment): FieldError[] {
  const at = new Report("status");
  const { replicas, updatedReplicas, readyReplicas, availableReplicas, ...rest } = next.status ?? {};
  at.nonNegative("observedGeneration", rest.observedGeneration);
  validateReplicaCounts({ replicas, updatedReplicas, readyReplicas, availableReplicas }, at, {
    readyName: "readyReplicas",
  });
  at.nonNegative("unavailableReplicas", rest.unavailableReplicas);
  at.nonNegative("terminatingReplicas", rest.terminatingReplicas);
  at.nonNegative("collisionCount", rest.collisionCount);
  const counts = { next: rest.collisionCount, current: current.status?.collisionCount };
  validateNotDecremented("collisionCount", counts, at);
  return at.errors;
}

export function validateReplicaSet({ spec }: ReplicaSet): FieldError[] {
  const at = new Report("spec");
  if (!spec) {
    at.required("selector");
    return at.errors;
  }
  at.nonNegative("replicas", spec.replicas);
  at.nonNegative("minReadySeconds", spec.minReadySeconds);
  validateSelectorAndTemplate({ ...spec, template: spec.template ?? {} }, at, names);
  return at.errors;
}

export function validateReplicaSetUpdate(next: ReplicaSet, current: ReplicaSet): FieldError[] {
  return [...validateReplicaSet(next), ...validateSelectorKept(next, current)];
}

export function validateReplicaSetStatusUpdate({ status }: ReplicaSet): FieldError[] {
  const at = new Report("status");
  const { replicas, fullyLabeledReplicas, readyReplicas, availableReplicas, ...rest } = status ?? {
    replicas: 0,
  };
  validateReplicaCounts({ replicas, fullyLabeledReplicas, readyReplicas, availableReplicas }, at, {
    readyName: "readyReplicas",
  });
  at.nonNegative("observedGeneration", rest.observedGeneration);
  at.nonNegative("terminatingReplicas", rest.terminatingReplicas);
  return at.errors;
}

interface Selecting {
  readonly spec?: { readonly selector?: k8s.V1LabelSelector };
}

/** Pods that were made for one selector would be orphans under another. */
function validateSelectorKept(next: Selecting, current: Selecting): FieldError[] {
  const at = new Report("spec");
  const selector = next.spec?.selector;
  if (!isEqual(selector, current.spec?.selector)) at.invalid("selector", selector, "field is immutable");
  return at.errors;
}

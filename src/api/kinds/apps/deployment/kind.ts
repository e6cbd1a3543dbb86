import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { isEqual } from "../../../meta/is-equal.ts";
import type { Deployment } from "../../../meta/objects.ts";
import { namedTemplateWarnings } from "../../../pod/validation/pod-warnings.ts";
import { ageColumn, column, formatSelector, nameColumn, wideColumn } from "../../columns.ts";
import { dropGatedTemplateFields } from "../../core/pod/drop-gated-fields.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, raiseGeneration, type Strategy, startGeneration } from "../../strategy.ts";
import {
  containersColumn,
  defaultDeployment,
  deploymentNames,
  imagesColumn,
  readyColumn,
  validateAtMost100Percent,
  validateIntOrPercent,
  validateNotDecremented,
  validateReplicaCounts,
  validateSelectorAndTemplate,
  validateSelectorKept,
  valueOfIntOrPercent,
} from "../workload.ts";

const strategy: Strategy<Deployment> = {
  resetByStatusUpdate: { "f:metadata": { "f:labels": {} } },
  applyDefaults: defaultDeployment,

  prepareForCreate(next, { features }) {
    startGeneration(next);
    next.status = {};
    dropGatedTemplateFields(next, undefined, features);
  },

  prepareForUpdate(next, current, { features }) {
    keepField(next, current, "status");
    dropGatedTemplateFields(next, current, features);
    const sameAnnotations = isEqual(next.metadata.annotations, current.metadata.annotations);
    if (!sameAnnotations || !isEqual(next.spec, current.spec)) raiseGeneration(next, current);
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
    keepField(next.metadata, current.metadata, "labels");
  },

  validate: validateDeployment,
  validateUpdate: validateDeploymentUpdate,
  validateStatusUpdate: validateDeploymentStatusUpdate,
  warnings: namedTemplateWarnings,
};

export const deploymentKind = defineKind<Deployment>({
  resource: {
    group: "apps",
    version: "v1",
    plural: "deployments",
    kind: "Deployment",
    shortNames: ["deploy"],
    categories: ["all"],
  },
  subresources: ["status", "scale"],
  strategy,
  columns: [
    nameColumn,
    readyColumn,
    column("Up-to-date", "Replicas of the newest template", ({ status }) => status?.updatedReplicas ?? 0),
    column(
      "Available",
      "Replicas that have been ready long enough",
      ({ status }) => status?.availableReplicas ?? 0,
    ),
    ageColumn,
    containersColumn,
    imagesColumn,
    wideColumn("Selector", "Which pods belong to it", ({ spec }) => formatSelector(spec?.selector)),
  ],
});

function validateDeployment({ spec }: Deployment): FieldError[] {
  const at = new FieldErrors("spec");
  if (!spec) {
    at.required("selector");
    return at.errors;
  }
  at.nonNegative("replicas", spec.replicas);
  validateSelectorAndTemplate(spec, at, deploymentNames);
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

function validateStrategy(strategy: k8s.V1DeploymentStrategy, at: FieldErrors): void {
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

function validateDeploymentUpdate(next: Deployment, current: Deployment): FieldError[] {
  return [...validateDeployment(next), ...validateSelectorKept(next, current)];
}

function validateDeploymentStatusUpdate(next: Deployment, current: Deployment): FieldError[] {
  const at = new FieldErrors("status");
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

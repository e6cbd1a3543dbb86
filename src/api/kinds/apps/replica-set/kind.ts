import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import type { ReplicaSet } from "../../../meta/objects.ts";
import { namedTemplateWarnings } from "../../../pod/validation/pod-warnings.ts";
import { ageColumn, formatSelector, integerColumn, nameColumn, wideColumn } from "../../columns.ts";
import { dropGatedTemplateFields } from "../../core/pod/drop-gated-fields.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, raiseGenerationOnSpecChange, type Strategy, startGeneration } from "../../strategy.ts";
import {
  containersColumn,
  currentReplicas,
  defaultReplicaSet,
  deploymentNames,
  desiredReplicas,
  imagesColumn,
  readyReplicas,
  validateReplicaCounts,
  validateSelectorAndTemplate,
  validateSelectorKept,
} from "../workload.ts";

const strategy: Strategy<ReplicaSet> = {
  applyDefaults: defaultReplicaSet,

  prepareForCreate(next, { features }) {
    startGeneration(next);
    next.status = { replicas: 0 };
    dropGatedTemplateFields(next, undefined, features);
  },

  prepareForUpdate(next, current, { features }) {
    keepField(next, current, "status");
    dropGatedTemplateFields(next, current, features);
    raiseGenerationOnSpecChange(next, current);
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
  },

  validate: validateReplicaSet,
  validateUpdate: validateReplicaSetUpdate,
  validateStatusUpdate: validateReplicaSetStatusUpdate,
  warnings: namedTemplateWarnings,
};

export const replicaSetKind = defineKind<ReplicaSet>({
  resource: {
    group: "apps",
    version: "v1",
    plural: "replicasets",
    kind: "ReplicaSet",
    shortNames: ["rs"],
    categories: ["all"],
  },
  subresources: ["status", "scale"],
  strategy,
  columns: [
    nameColumn,
    integerColumn("Desired", "Replicas that are wanted", desiredReplicas),
    integerColumn("Current", "Replicas that exist", currentReplicas),
    integerColumn("Ready", "Replicas that are ready", readyReplicas),
    ageColumn,
    containersColumn,
    imagesColumn,
    wideColumn(
      "Selector",
      "Which pods belong to it",
      ({ spec }) => formatSelector(spec?.selector) || "<none>",
    ),
  ],
});

function validateReplicaSet({ spec }: ReplicaSet): FieldError[] {
  const at = new FieldErrors("spec");
  if (!spec) {
    at.required("selector");
    return at.errors;
  }
  at.nonNegative("replicas", spec.replicas);
  at.nonNegative("minReadySeconds", spec.minReadySeconds);
  validateSelectorAndTemplate({ ...spec, template: spec.template ?? {} }, at, deploymentNames);
  return at.errors;
}

function validateReplicaSetUpdate(next: ReplicaSet, current: ReplicaSet): FieldError[] {
  return [...validateReplicaSet(next), ...validateSelectorKept(next, current)];
}

function validateReplicaSetStatusUpdate({ status }: ReplicaSet): FieldError[] {
  const at = new FieldErrors("status");
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

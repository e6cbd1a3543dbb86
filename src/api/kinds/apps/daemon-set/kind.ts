import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { isEqual } from "../../../meta/is-equal.ts";
import type { DaemonSet } from "../../../meta/objects.ts";
import { labelSelectorOf, matchesLabels } from "../../../meta/selector.ts";
import { validateLabelSelector } from "../../../meta/validate-metadata.ts";
import { defaultPodTemplate } from "../../../pod/defaults/pod.ts";
import { validatePodTemplate } from "../../../pod/validation/pod.ts";
import { podTemplateWarnings } from "../../../pod/validation/pod-warnings.ts";
import { ageColumn, column, formatSelector, integerColumn, nameColumn, wideColumn } from "../../columns.ts";
import { dropGatedTemplateFields } from "../../core/pod/drop-gated-fields.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, raiseGenerationOnSpecChange, type Strategy, startGeneration } from "../../strategy.ts";
import {
  containersColumn,
  imagesColumn,
  isEmptySelector,
  isReadableSelector,
  validateAtMost100Percent,
  validateIntOrPercent,
  validateNotDecremented,
  validateSelectorKept,
  validateTemplateLifetime,
  valueOfIntOrPercent,
} from "../workload.ts";
import {
  invalidTemplateGeneration,
  setTemplateGeneration,
  templateGenerationOf,
} from "./template-generation.ts";

type Spec = NonNullable<DaemonSet["spec"]>;

const strategy: Strategy<DaemonSet> = {
  applyDefaults: defaultDaemonSet,

  prepareForCreate(next, { features }) {
    startGeneration(next);
    next.status = {
      currentNumberScheduled: 0,
      desiredNumberScheduled: 0,
      numberMisscheduled: 0,
      numberReady: 0,
    };
    if (invalidTemplateGeneration(next) === undefined)
      setTemplateGeneration(next, Math.max(1, templateGenerationOf(next) ?? 1));
    dropGatedTemplateFields(next, undefined, features);
  },

  prepareForUpdate(next, current, { features }) {
    keepField(next, current, "status");
    dropGatedTemplateFields(next, current, features);
    const isTemplateChanged = !isEqual(next.spec?.template, current.spec?.template);
    setTemplateGeneration(next, (templateGenerationOf(current) ?? 0) + Number(isTemplateChanged));
    raiseGenerationOnSpecChange(next, current);
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
    setTemplateGeneration(next, templateGenerationOf(current) ?? 0);
  },

  validate: validateDaemonSet,
  validateUpdate: (next, current) => [...validateSelectorKept(next, current), ...validateDaemonSet(next)],
  validateStatusUpdate: validateDaemonSetStatusUpdate,

  warnings(next, _context, current) {
    if (current && templateGenerationOf(next) === templateGenerationOf(current)) return [];
    return podTemplateWarnings(next.spec?.template, "spec.template");
  },
};

export const daemonSetKind = defineKind<DaemonSet>({
  resource: {
    group: "apps",
    version: "v1",
    plural: "daemonsets",
    kind: "DaemonSet",
    shortNames: ["ds"],
    categories: ["all"],
  },
  subresources: ["status"],
  strategy,
  columns: [
    nameColumn,
    integerColumn(
      "Desired",
      "Nodes that should run a pod",
      ({ status }) => status?.desiredNumberScheduled ?? 0,
    ),
    integerColumn(
      "Current",
      "Nodes that should run a pod and have one",
      ({ status }) => status?.currentNumberScheduled ?? 0,
    ),
    integerColumn(
      "Ready",
      "Nodes that should run a pod and have a ready one",
      ({ status }) => status?.numberReady ?? 0,
    ),
    integerColumn(
      "Up-to-date",
      "Nodes with a pod of the newest template",
      ({ status }) => status?.updatedNumberScheduled ?? 0,
    ),
    integerColumn(
      "Available",
      "Nodes with a pod that has been ready long enough",
      ({ status }) => status?.numberAvailable ?? 0,
    ),
    column(
      "Node Selector",
      "Labels of the nodes that run a pod",
      ({ spec }) => formatSelector({ matchLabels: spec?.template?.spec?.nodeSelector }) || "<none>",
    ),
    ageColumn,
    containersColumn,
    imagesColumn,
    wideColumn("Selector", "Which pods belong to it", ({ spec }) => formatSelector(spec?.selector)),
  ],
});

function defaultDaemonSet({ spec }: DaemonSet): void {
  if (!spec) return;
  spec.updateStrategy ??= {};
  spec.updateStrategy.type ||= "RollingUpdate";
  if (spec.updateStrategy.type === "RollingUpdate") {
    spec.updateStrategy.rollingUpdate ??= {};
    spec.updateStrategy.rollingUpdate.maxUnavailable ??= 1;
    spec.updateStrategy.rollingUpdate.maxSurge ??= 0;
  }
  spec.revisionHistoryLimit ??= 10;
  defaultPodTemplate(spec.template);
}

function validateDaemonSet(set: DaemonSet): FieldError[] {
  const at = new FieldErrors("spec");
  const generation = invalidTemplateGeneration(set);
  if (generation !== undefined) at.invalid("templateGeneration", generation, "must be an integer");
  if (!set.spec) {
    at.required("selector");
    return at.errors;
  }
  const { template, updateStrategy, minReadySeconds, revisionHistoryLimit } = set.spec;
  validateSelector(set.spec, at);
  validatePodTemplate(template, at.child("template"));
  validateTemplateLifetime(template, at, "DaemonSet");
  at.nonNegative("minReadySeconds", minReadySeconds);
  validateUpdateStrategy(updateStrategy ?? {}, at.child("updateStrategy"));
  at.nonNegative("revisionHistoryLimit", revisionHistoryLimit);
  return at.errors;
}

/** Upstream has no message for a missing selector: it matches no template. */
function validateSelector({ selector, template }: Spec, at: FieldErrors): void {
  if (selector) validateLabelSelector(selector, at.child("selector"));
  if (!selector || isReadableSelector(selector)) {
    const labels = template?.metadata?.labels;
    const requirements = labelSelectorOf(selector);
    if (!requirements || !matchesLabels(requirements, labels)) {
      const detail = "`selector` does not match template `labels`";
      at.invalid("template.metadata.labels", labels ?? null, detail);
    }
  }
  if (isEmptySelector(selector)) {
    at.invalid("selector", selector, "empty selector is invalid for daemonset");
  }
}

function validateUpdateStrategy(
  { type, rollingUpdate }: NonNullable<Spec["updateStrategy"]>,
  at: FieldErrors,
): void {
  if (type === "OnDelete") return;
  if (type !== "RollingUpdate") {
    const shown = { Type: type, RollingUpdate: rollingUpdate ?? null };
    at.notSupported("", shown, ["RollingUpdate", "OnDelete"]);
    return;
  }
  if (!rollingUpdate) {
    at.required("rollingUpdate");
    return;
  }
  const limits = ["maxUnavailable", "maxSurge"] as const;
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate;
  for (const limit of limits) validateIntOrPercent(`rollingUpdate.${limit}`, rollingUpdate[limit] ?? 0, at);
  for (const limit of limits)
    validateAtMost100Percent(`rollingUpdate.${limit}`, rollingUpdate[limit] ?? 0, at);
  const hasUnavailable = valueOfIntOrPercent(maxUnavailable) !== 0;
  const hasSurge = valueOfIntOrPercent(maxSurge) !== 0;
  if (hasUnavailable && hasSurge) {
    at.invalid("rollingUpdate.maxSurge", maxSurge, "may not be set when maxUnavailable is non-zero");
  } else if (!hasUnavailable && !hasSurge) {
    at.required("rollingUpdate.maxUnavailable", "cannot be 0 when maxSurge is 0");
  }
}

function validateDaemonSetStatusUpdate(next: DaemonSet, current: DaemonSet): FieldError[] {
  const at = new FieldErrors("status");
  const counts = [
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
  ] as const;
  for (const count of counts) at.nonNegative(count, next.status?.[count]);
  const collisions = { next: next.status?.collisionCount, current: current.status?.collisionCount };
  validateNotDecremented("collisionCount", collisions, at);
  return at.errors;
}

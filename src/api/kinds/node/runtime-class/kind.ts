import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { dnsLabelProblems } from "../../../meta/names.ts";
import type { RuntimeClass } from "../../../meta/objects.ts";
import { validateLabels } from "../../../meta/validate-metadata.ts";
import { defaultResourceList } from "../../../pod/defaults/container.ts";
import { validateResourceRequirements } from "../../../pod/validation/resources.ts";
import { validateToleration } from "../../../pod/validation/scheduling.ts";
import { ageColumn, column, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import type { Strategy } from "../../strategy.ts";

const strategy: Strategy<RuntimeClass> = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,

  applyDefaults({ overhead }) {
    defaultResourceList(overhead?.podFixed);
  },

  validate,

  validateUpdate(next, current) {
    const at = new FieldErrors("", validate(next));
    if (next.handler !== current.handler) at.invalid("handler", next.handler, "field is immutable");
    return at.errors;
  },
};

export const runtimeClassKind = defineKind<RuntimeClass>({
  resource: {
    group: "node.k8s.io",
    version: "v1",
    plural: "runtimeclasses",
    kind: "RuntimeClass",
    namespaced: false,
  },
  strategy,
  columns: [
    nameColumn,
    column("Handler", "What the runtime knows the class as", ({ handler }) => handler ?? ""),
    ageColumn,
  ],
});

function validate({ handler, overhead, scheduling }: RuntimeClass): FieldError[] {
  const at = new FieldErrors("");
  if (!handler) at.required("handler");
  else at.problems("handler", handler, dnsLabelProblems(handler));
  if (overhead?.podFixed) {
    const rules = { claimNames: new Set<string>() };
    validateResourceRequirements({ limits: overhead.podFixed }, at.child("overhead"), rules);
  }
  validateLabels(scheduling?.nodeSelector, at.child("scheduling.nodeSelector"));
  const seen = new Set<string>();
  at.each("scheduling.tolerations", scheduling?.tolerations, (toleration, place) => {
    validateToleration(toleration, place);
    const { key, operator, value, effect } = toleration;
    const identity = JSON.stringify([key, operator, value, effect]);
    if (seen.has(identity)) place.duplicate("", toleration);
    seen.add(identity);
  });
  return at.errors;
}

import type * as k8s from "@kubernetes/client-node";
import { defaultResourceList } from "../../api/defaults/resource-list.ts";
import type { FieldError } from "../../api/field-error.ts";
import { dnsLabelProblems } from "../../api/names.ts";
import type { KubeObject, Wire } from "../../api/objects.ts";
import { validateLabels } from "../../api/validation/labels.ts";
import { Report } from "../../api/validation/report.ts";
import { validateResourceRequirements } from "../../api/validation/resources.ts";
import { validateToleration } from "../../api/validation/scheduling.ts";
import type { Strategy } from "./strategy.ts";

export type RuntimeClass = KubeObject & Wire<k8s.V1RuntimeClass>;

export const runtimeClassStrategy: Strategy<RuntimeClass> = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,

  applyDefaults({ overhead }) {
    defaultResourceList(overhead?.podFixed);
  },

  validate,

  validateUpdate(next, current) {
    const at = new Report("", validate(next));
    if (next.handler !== current.handler) at.invalid("handler", next.handler, "field is immutable");
    return at.errors;
  },
};

function validate({ handler, overhead, scheduling }: RuntimeClass): FieldError[] {
  const at = new Report("");
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

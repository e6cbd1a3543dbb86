import type * as k8s from "@kubernetes/client-node";
import { type FieldError, invalid, required } from "../../../api/field-error.ts";
import {
  type FieldRequirement,
  type FieldSelector,
  parseFieldSelector,
} from "../../../api/field-selector.ts";
import type { Wire } from "../../../api/objects.ts";

type Attributes = Wire<k8s.V1ResourceAttributes>;

/** Each selector is either written out or given as requirements. */
export function checkSelectors(attributes: Attributes | undefined): FieldError[] {
  const { fieldSelector, labelSelector } = attributes ?? {};
  return Object.entries({ fieldSelector, labelSelector }).flatMap(([name, selector]) => {
    const field = `spec.resourceAttributes.${name}`;
    const hasRequirements = Boolean(selector?.requirements?.length);
    if (!selector || Boolean(selector.rawSelector) !== hasRequirements) return [];
    return hasRequirements
      ? [
          invalid(
            `${field}.rawSelector`,
            selector.rawSelector,
            "may not specified at the same time as requirements",
          ),
        ]
      : [
          required(
            `${field}.requirements`,
            `when ${field} is specified, requirements or rawSelector is required`,
          ),
        ];
  });
}

/** As much of a field selector as can be understood: leaving a part out asks for more, never for less. */
export function readFieldSelector(selector: Attributes["fieldSelector"]): {
  requirements: FieldSelector;
  problem?: string;
} {
  const problem = "spec.resourceAttributes.fieldSelector ignored due to parse error";
  if (selector?.rawSelector) {
    try {
      return { requirements: parseFieldSelector(selector.rawSelector) };
    } catch {
      return { requirements: [], problem };
    }
  }
  const asked = selector?.requirements ?? [];
  const requirements = asked.flatMap(({ key, operator, values = [] }): FieldRequirement[] => {
    const [value] = values;
    if (value === undefined || values.length > 1 || (operator !== "In" && operator !== "NotIn")) return [];
    return [{ field: key, operator: operator === "In" ? "=" : "!=", value }];
  });
  if (requirements.length === asked.length) return { requirements };
  return {
    requirements,
    problem: requirements.length > 0 ? problem.replace("ignored", "partially ignored") : problem,
  };
}

import type { PodCondition, PodSpec } from "../../../api/objects.ts";
import { isFalse, isTrue, type Verdict } from "./verdict.ts";

const type = "Ready";

/** Whether the containers are ready and so is every condition that the pod's readiness gates name. */
export function ready(
  spec: PodSpec,
  containersReady: Verdict,
  /** Those that others wrote. */
  conditions: readonly PodCondition[],
): Verdict {
  if (containersReady.status !== "True") return { ...containersReady, type };
  const message = (spec.readinessGates ?? [])
    .flatMap(({ conditionType }) => {
      const name = JSON.stringify(conditionType);
      const condition = conditions.find((each) => each.type === conditionType);
      if (!condition) return [`corresponding condition of pod readiness gate ${name} does not exist.`];
      if (condition.status === "True") return [];
      return [`the status of pod readiness gate ${name} is not "True", but ${condition.status}`];
    })
    .join(", ");
  return message ? isFalse(type, "ReadinessGatesNotReady", message) : isTrue(type);
}

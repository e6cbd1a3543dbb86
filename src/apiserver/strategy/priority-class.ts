import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Wire } from "../../api/objects.ts";
import { Report } from "../../api/validation/report.ts";
import { startGeneration } from "./prepare.ts";
import type { Strategy } from "./strategy.ts";

export type PriorityClass = KubeObject & Wire<k8s.V1PriorityClass>;

const maxUserPriority = 1_000_000_000;

/** Classes that exist from the start. */
export const systemPriorities: Readonly<Record<string, number>> = {
  "system-node-critical": 2_000_001_000,
  "system-cluster-critical": 2_000_000_000,
};

export const priorityClassStrategy: Strategy<PriorityClass> = {
  applyDefaults(priorityClass) {
    priorityClass.preemptionPolicy ??= "PreemptLowerPriority";
  },

  prepareForCreate: startGeneration,

  validate(priorityClass) {
    const at = new Report("");
    if (priorityClass.metadata.name?.startsWith("system-")) {
      const problem = systemClassProblem(priorityClass);
      if (problem) {
        const detail = `priority class names with 'system-' prefix are reserved for system use only. error: ${problem}`;
        at.forbidden("metadata.name", detail);
      }
    } else if ((priorityClass.value ?? 0) > maxUserPriority) {
      const detail = `maximum allowed value of a user defined priority is ${maxUserPriority}`;
      at.forbidden("value", detail);
    }
    const policies = ["PreemptLowerPriority", "Never"];
    at.requiredOneOf("preemptionPolicy", priorityClass.preemptionPolicy, policies);
    return at.errors;
  },

  validateUpdate(next, current) {
    const at = new Report("");
    if (next.value !== current.value) at.forbidden("value", "may not be changed in an update.");
    if (next.preemptionPolicy !== current.preemptionPolicy) {
      at.invalid("preemptionPolicy", next.preemptionPolicy, "field is immutable");
    }
    return at.errors;
  },
};

function systemClassProblem({ metadata, value, globalDefault }: PriorityClass): string | undefined {
  const name = metadata.name ?? "";
  const known = Object.hasOwn(systemPriorities, name) ? systemPriorities[name] : undefined;
  if (known === undefined) return `${name} is not a known system priority class`;
  if (value !== known) return `value of ${name} PriorityClass must be ${known}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Wire } from "../../api/objects.ts";
import { Report } from "../../api/validation/report.ts";
import { startGeneration } from "./prepare.ts";
import type { Strategy } from "./strategy.ts";

export type PriorityClass = KubeObject & Wire<k8s.V1PriorityClass>;

const maxUserPriority = 1_000_000_000;

/** Classes that exist from the start. */
export const systemPriorityClasses: readonly PriorityClass[] = [
  makeSystemClass(
    "system-node-critical",
    2_000_001_000,
    "Used for system critical pods that must not be moved from their current node.",
  ),
  makeSystemClass(
    "system-cluster-critical",
    2_000_000_000,
    "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
  ),
];

function makeSystemClass(name: string, value: number, description: string): PriorityClass {
  const kind = { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass" };
  return { ...kind, metadata: { name }, value, description };
}

export const priorityClassStrategy: Strategy<PriorityClass> = {
  applyDefaults(priorityClass) {
    priorityClass.preemptionPolicy ??= "PreemptLowerPriority";
    priorityClass.value ??= 0;
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
  const { name } = metadata;
  const known = systemPriorityClasses.find((priorityClass) => priorityClass.metadata.name === name);
  if (!known) return `${name} is not a known system priority class`;
  if (value !== known.value) return `value of ${name} PriorityClass must be ${known.value}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

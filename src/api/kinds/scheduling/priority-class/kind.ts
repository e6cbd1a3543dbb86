import { FieldErrors } from "../../../meta/field-errors.ts";
import type { PriorityClass } from "../../../meta/objects.ts";
import { ageColumn, column, integerColumn, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import { type Strategy, startGeneration } from "../../strategy.ts";

const maxUserPriority = 1_000_000_000;

/** Priority classes of every cluster. */
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

const strategy: Strategy<PriorityClass> = {
  applyDefaults(priorityClass) {
    priorityClass.preemptionPolicy ??= "PreemptLowerPriority";
    priorityClass.value ??= 0;
  },

  prepareForCreate: startGeneration,

  validate(priorityClass) {
    const at = new FieldErrors("");
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
    const at = new FieldErrors("");
    if (next.value !== current.value) at.forbidden("value", "may not be changed in an update.");
    if (next.preemptionPolicy !== current.preemptionPolicy) {
      at.invalid("preemptionPolicy", next.preemptionPolicy, "field is immutable");
    }
    return at.errors;
  },
};

export const priorityClassKind = defineKind<PriorityClass>({
  resource: {
    group: "scheduling.k8s.io",
    version: "v1",
    plural: "priorityclasses",
    kind: "PriorityClass",
    namespaced: false,
    shortNames: ["pc"],
  },
  strategy,
  columns: [
    nameColumn,
    integerColumn("Value", "Priority; higher goes first", ({ value }) => value ?? 0),
    column(
      "Global-Default",
      "Whether pods without a class get this one",
      ({ globalDefault }) => globalDefault ?? false,
      { type: "boolean" },
    ),
    ageColumn,
    column(
      "PreemptionPolicy",
      "Whether pods of the class push others out",
      ({ preemptionPolicy }) => preemptionPolicy ?? "",
    ),
  ],
});

function systemClassProblem({ metadata, value, globalDefault }: PriorityClass): string | undefined {
  const { name } = metadata;
  const known = systemPriorityClasses.find((priorityClass) => priorityClass.metadata.name === name);
  if (!known) return `${name} is not a known system priority class`;
  if (value !== known.value) return `value of ${name} PriorityClass must be ${known.value}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

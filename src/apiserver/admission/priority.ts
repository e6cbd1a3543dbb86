import type { Pod } from "../../api/objects.ts";
import type { PriorityClass } from "../strategy/priority-class.ts";

/** Turns the name of a priority class into the priority. Returns why the pod is forbidden, if it is. */
export function admitPriority(pod: Pod, classes: readonly PriorityClass[]): string | undefined {
  pod.spec ??= { containers: [] };
  const { spec } = pod;
  const name = spec.priorityClassName;
  const chosen = name
    ? classes.find((priorityClass) => priorityClass.metadata.name === name)
    : defaultPriorityClass(classes);
  if (name && !chosen) return `no PriorityClass with name ${name} was found`;

  const { value: priority = 0, preemptionPolicy: policy = "PreemptLowerPriority" } = chosen ?? {};
  if (spec.priority !== undefined && spec.priority !== priority) {
    return `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`;
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy) {
    return `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`;
  }
  if (chosen) spec.priorityClassName = chosen.metadata.name;
  spec.priority = priority;
  spec.preemptionPolicy = policy;
  return undefined;
}

/** An update that leaves the computed values out means to keep them. */
export function keepPriority(next: Pod, current: Pod): void {
  if (!next.spec || !current.spec) return;
  next.spec.priority ??= current.spec.priority;
  next.spec.preemptionPolicy ??= current.spec.preemptionPolicy;
}

/** Where several say they are the default, the lowest counts. */
function defaultPriorityClass(classes: readonly PriorityClass[]): PriorityClass | undefined {
  const defaults = classes.filter((priorityClass) => priorityClass.globalDefault);
  return defaults.sort((a, b) => (a.value ?? 0) - (b.value ?? 0))[0];
}

/** There is one default class at most. Returns why another one is forbidden. */
export function admitPriorityClass(
  next: PriorityClass,
  classes: readonly PriorityClass[],
): string | undefined {
  const current = next.globalDefault ? defaultPriorityClass(classes) : undefined;
  if (!current || current.metadata.name === next.metadata.name) return undefined;
  return `PriorityClass ${current.metadata.name} is already marked as default. Only one default can exist`;
}

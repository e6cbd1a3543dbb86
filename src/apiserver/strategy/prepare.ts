import { isEqual } from "../../api/is-equal.ts";
import type { KubeObject } from "../../api/objects.ts";

/** Users write the spec, controllers the status. */
export interface WithSpecAndStatus extends KubeObject {
  spec?: unknown;
  status?: unknown;
}

/** Gives `next` a field as `current` has it, or none. */
export function keepField<T extends object, K extends keyof T>(next: T, current: T, field: K): void {
  if (current[field] === undefined) delete next[field];
  else next[field] = current[field];
}

export function startGeneration(next: KubeObject): void {
  next.metadata.generation = 1;
}

/** The generation counts the changes of what users want. */
export function raiseGeneration(next: KubeObject, current: KubeObject): void {
  next.metadata.generation = (current.metadata.generation ?? 0) + 1;
}

export function raiseGenerationOnSpecChange(next: WithSpecAndStatus, current: WithSpecAndStatus): void {
  if (!isEqual(next.spec, current.spec)) raiseGeneration(next, current);
}

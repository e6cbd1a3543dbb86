import type * as matchConditions from "./match-conditions.ts";

/** Code for match conditions, which most servers never need. */
type ConditionEngine = typeof matchConditions;

let engine: ConditionEngine | undefined;

/** Loads the engine on first use: a server without match conditions does not need it. */
export async function loadConditionEngine(): Promise<ConditionEngine> {
  engine ??= await import("./match-conditions.ts");
  return engine;
}

/** The engine, after `loadConditionEngine` has resolved. */
export function conditionEngine(): ConditionEngine {
  if (!engine) throw new Error("the engine for match conditions is not loaded");
  return engine;
}

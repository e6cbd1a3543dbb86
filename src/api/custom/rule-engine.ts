import type { createDefinitionChecks } from "./rules/check-definition.ts";
import type { createRulesValidator } from "./rules/rules-validator.ts";

/** Code for rules, which most servers never need. */
interface RuleEngine {
  readonly createDefinitionChecks: typeof createDefinitionChecks;
  readonly createRulesValidator: typeof createRulesValidator;
}

let engine: RuleEngine | undefined;

/** Loads the engine. Rules can be compiled after this resolves. Loaded on first use: a server without rules does not need it. */
export async function loadRuleEngine(): Promise<void> {
  if (engine) return;
  const [definition, validator] = await Promise.all([
    import("./rules/check-definition.ts"),
    import("./rules/rules-validator.ts"),
  ]);
  engine = { ...definition, ...validator };
}

export function ruleEngine(): RuleEngine {
  if (!engine) throw new Error("the rule engine is not loaded");
  return engine;
}

import { matchGlob } from "../../lib/match-glob.ts";
import type { Scripts } from "./scripts.ts";

/** Patterns that a rule matches, with `*` and `?`. A container pattern does not match objects without a container. */
export interface RuleMatch {
  readonly namespace?: string;
  readonly pod?: string;
  readonly container?: string;
  /** Image name as in the pod or the pull request. */
  readonly image?: string;
  /** Runtime handler of the pod; `""` if it has none. */
  readonly handler?: string;
  /** Name of a volume in the pod. */
  readonly volume?: string;
  /** `startup`, `liveness` or `readiness`. */
  readonly probe?: string;
}

/** Properties of the object for which a script is requested. */
export interface Facts {
  readonly namespace?: string;
  readonly pod?: string;
  readonly uid?: string;
  readonly container?: string;
  /** Attempt number of the container: 0 for the first, incremented by each restart. */
  readonly attempt?: number;
  readonly image?: string;
  readonly handler?: string;
  readonly volume?: string;
  readonly probe?: string;
}

type Section<Script> = Script | ((facts: Facts) => Script | undefined);

/**
 * Script for matching objects; without `match`, for all. Newer rules take precedence over older ones, and rules over
 * annotations.
 */
export type SimulationRule = { readonly match?: RuleMatch } & {
  readonly [Name in keyof Scripts]?: Section<Scripts[Name]>;
};

/** Active rules. They can be changed at any time; operations in progress are not affected. */
export interface SimulationRules {
  /** Returns the rule, for `remove`. */
  add(rule: SimulationRule): SimulationRule;
  /** Ignored for an unknown rule. */
  remove(rule: SimulationRule): void;
}

export interface RuleBook extends SimulationRules {
  /** Merges the matching rules over the script from annotations. */
  scriptFor<Name extends keyof Scripts>(name: Name, facts: Facts, base?: Scripts[Name]): Scripts[Name];
}

export function createRuleBook(initial: readonly SimulationRule[] = []): RuleBook {
  const rules = [...initial];
  return {
    add(rule) {
      rules.push(rule);
      return rule;
    },
    remove(rule) {
      const index = rules.indexOf(rule);
      if (index >= 0) rules.splice(index, 1);
    },
    scriptFor(name, facts, base) {
      let script: Scripts[typeof name] = base ?? {};
      for (const rule of rules) {
        const section = rule[name];
        if (section === undefined || !matches(rule.match ?? {}, facts)) continue;
        const result = typeof section === "function" ? section(facts) : section;
        if (result) script = { ...script, ...result };
      }
      return script;
    },
  };
}

const matchKeys = ["namespace", "pod", "container", "image", "handler", "volume", "probe"] as const;

function matches(match: RuleMatch, facts: Facts): boolean {
  return matchKeys.every((key) => {
    const pattern = match[key];
    const fact = facts[key];
    return pattern === undefined || (fact !== undefined && matchGlob(pattern, fact));
  });
}

import { matchesGlob } from "./glob.ts";
import type { Scripts } from "./scripts.ts";

/** What a rule is for: each pattern may have `*` and `?`. What has no container matches no rule for one. */
export interface RuleMatch {
  readonly namespace?: string;
  readonly pod?: string;
  readonly container?: string;
  /** As the pod or the pull names it. */
  readonly image?: string;
  /** The pod's runtime handler, `""` where it names none. */
  readonly handler?: string;
  /** Of the pod's volumes, by their names in it. */
  readonly volume?: string;
  /** `startup`, `liveness` or `readiness`. */
  readonly probe?: string;
}

/** Of whom a script is asked for. */
export interface Facts {
  readonly namespace?: string;
  readonly pod?: string;
  readonly uid?: string;
  readonly container?: string;
  /** Of the container: 0 for the first, one more for each restart. */
  readonly attempt?: number;
  readonly image?: string;
  readonly handler?: string;
  readonly volume?: string;
  readonly probe?: string;
}

type Section<Script> = Script | ((facts: Facts) => Script | undefined);

/**
 * What happens to those who match; without `match`, to all. Of two rules that say something of the same matter the
 * newer one counts, and any rule before a pod's annotations.
 */
export type SimulationRule = { readonly match?: RuleMatch } & {
  readonly [Name in keyof Scripts]?: Section<Scripts[Name]>;
};

/** The rules in force. They can be changed at any time; what has begun goes on as it began. */
export interface SimulationRules {
  /** Returns the rule, for `remove`. */
  add(rule: SimulationRule): SimulationRule;
  /** Does nothing for a rule that is not there. */
  remove(rule: SimulationRule): void;
}

export interface RuleBook extends SimulationRules {
  /** What the rules say, over what the pod says of itself. */
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
        const said = typeof section === "function" ? section(facts) : section;
        if (said) script = { ...script, ...said };
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
    return pattern === undefined || (fact !== undefined && matchesGlob(pattern, fact));
  });
}

import type { Attributes, Decision } from "../attributes.ts";
import type { UserInfo } from "../user-info.ts";
import type { PolicyRule, RbacSource } from "./objects.ts";
import { ruleFits } from "./rule-allows.ts";
import { type Grant, indexBindings, type SubjectIndex } from "./subject-index.ts";

export interface RbacAuthorizer {
  authorize(attributes: Attributes): Decision;
  /** All that a user may do in a namespace, or with none cluster-wide. */
  rulesFor(user: UserInfo, namespace: string): UserRules;
  /** To be told of every change: of a role or binding in this namespace, or cluster-wide if without one. */
  changed(namespace?: string): void;
}

interface UserRules {
  readonly rules: readonly PolicyRule[];
  /** Roles that are bound but do not exist; empty if all do. */
  readonly problem: string;
}

/** The answer for one verb on one resource, whatever the name, unless there is another for the name. */
interface Answer {
  readonly decision: Decision;
  readonly byName: ReadonlyMap<string, Decision>;
}

/** After so many, all are forgotten: nobody fills the memory with questions. */
const maxAnswers = 100_000;

export function createRbacAuthorizer(source: RbacSource): RbacAuthorizer {
  const indexes = new Map<string, SubjectIndex>();
  let answers = new WeakMap<UserInfo, Map<string, Answer>>();
  let answerCount = 0;

  return {
    authorize(attributes) {
      let known = answers.get(attributes.user);
      if (!known) {
        known = new Map();
        answers.set(attributes.user, known);
      }
      const key = keyOf(attributes);
      let answer = known.get(key);
      if (!answer) {
        answer = decide(grantsOf(attributes.user, attributes.namespace), attributes);
        known.set(key, answer);
        if (++answerCount > maxAnswers) forgetAnswers();
      }
      return answer.byName.get(attributes.name) ?? answer.decision;
    },
    rulesFor(user, namespace) {
      const grants = grantsOf(user, namespace);
      return { rules: grants.flatMap((grant) => grant.rules), problem: problemOf(grants) };
    },
    changed(namespace) {
      forgetAnswers();
      // Bindings in a namespace may refer to cluster roles.
      if (namespace) indexes.delete(namespace);
      else indexes.clear();
    },
  };

  function forgetAnswers(): void {
    answers = new WeakMap();
    answerCount = 0;
  }

  function grantsOf(user: UserInfo, namespace: string): Grant[] {
    const clusterWide = indexOf("").grantsOf(user);
    return namespace ? [...clusterWide, ...indexOf(namespace).grantsOf(user)] : clusterWide;
  }

  function indexOf(namespace: string): SubjectIndex {
    let index = indexes.get(namespace);
    if (!index) {
      index = indexBindings(source, namespace);
      // Namespaces without bindings are as many as there are strings.
      if (index.size > 0) indexes.set(namespace, index);
    }
    return index;
  }
}

/** Lengths go first, so that no two questions have one key, whatever characters are in them. */
function keyOf(attributes: Attributes): string {
  const { verb, path, namespace, apiGroup, resource, subresource } = attributes;
  if (!attributes.isResourceRequest) return `${verb.length}/${verb}${path}`;
  const lengths = `${verb.length},${namespace.length},${apiGroup.length},${resource.length}:`;
  return `${lengths}${verb}${namespace}${apiGroup}${resource}${subresource}`;
}

function decide(grants: readonly Grant[], attributes: Attributes): Answer {
  const byName = new Map<string, Decision>();
  for (const { rules, reason } of grants) {
    const decision = { allowed: true, reason };
    for (const rule of rules) {
      if (!ruleFits(rule, attributes)) continue;
      if (!attributes.isResourceRequest || !rule.resourceNames?.length) return { decision, byName };
      for (const name of rule.resourceNames) byName.set(name, decision);
    }
  }
  const problem = problemOf(grants);
  return { decision: { allowed: false, reason: problem && `RBAC: ${problem}` }, byName };
}

function problemOf(grants: readonly Grant[]): string {
  const problems = [...new Set(grants.flatMap((grant) => grant.problem ?? []))];
  return problems.length > 1 ? `[${problems.join(", ")}]` : (problems[0] ?? "");
}

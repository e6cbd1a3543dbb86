import { expect, test } from "vitest";
import { aggregatedRules, reaggregate } from "./aggregate.ts";
import type { ClusterRole, PolicyRule } from "./rbac-objects.ts";

const rule = (resource: string): PolicyRule => ({ apiGroups: [""], resources: [resource], verbs: ["get"] });

function role(name: string, facts: { to?: string; from?: string; rules?: PolicyRule[] }): ClusterRole {
  const { to, from, rules } = facts;
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name, ...(to && { labels: { to } }) },
    ...(rules && { rules }),
    ...(from && { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { to: from } }] } }),
  };
}

test("aggregates rules in the order of role names, without duplicates", () => {
  const view = role("view", { from: "view", rules: [rule("stale")] });
  const sources = [
    role("b", { to: "view", rules: [rule("x"), rule("y")] }),
    role("a", { to: "view", rules: [rule("z"), { verbs: ["get"], resources: ["x"], apiGroups: [""] }] }),
    role("other", { to: "edit", rules: [rule("no")] }),
  ];
  expect(aggregatedRules(view, [view, ...sources])).toEqual([rule("z"), rule("x"), rule("y")]);
});

test("aggregates aggregated roles in one pass", () => {
  const roles = [
    role("admin", { from: "admin" }),
    role("edit", { from: "edit", to: "admin" }),
    role("view", { from: "view", to: "edit" }),
    role("leaf", { to: "view", rules: [rule("x")] }),
  ];
  const changed = reaggregate(roles);
  expect(changed.map((each) => [each.metadata.name, each.rules])).toEqual([
    ["admin", [rule("x")]],
    ["edit", [rule("x")]],
    ["view", [rule("x")]],
  ]);
  expect(reaggregate([...changed, role("leaf", { to: "view", rules: [rule("x")] })])).toEqual([]);
});

test("aggregation of roles that select each other terminates", () => {
  const roles = [
    role("a", { from: "a", to: "b" }),
    role("b", { from: "b", to: "a" }),
    role("leaf", { to: "a", rules: [rule("x")] }),
  ];
  expect(reaggregate(roles).map((each) => each.rules)).toEqual([[rule("x")], [rule("x")]]);
});

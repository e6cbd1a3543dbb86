import { expect, test } from "vitest";
import { useStrategy } from "../strategy.fixture.ts";

const apiVersion = "rbac.authorization.k8s.io/v1";

test.each<[string, object, string[]]>([
  [
    "Role",
    { rules: [{}, { nonResourceURLs: ["/a"], verbs: ["get"] }] },
    [
      "rules[0].verbs: Required value: verbs must contain at least one value",
      "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
      "rules[0].resources: Required value: resource rules must supply at least one resource",
      'rules[1].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs',
    ],
  ],
  [
    "ClusterRole",
    { aggregationRule: {} },
    [
      "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
    ],
  ],
  [
    "ClusterRoleBinding",
    {
      roleRef: { kind: "Role", name: "" },
      subjects: [
        { kind: "ServiceAccount", name: "a" },
        { kind: "Robot", name: "b" },
      ],
    },
    [
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
      "roleRef.name: Required value",
      "subjects[0].namespace: Required value",
      'subjects[1].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
    ],
  ],
])("create %s %j", (kind, fields, expected) => {
  expect(useStrategy(apiVersion, kind).createErrors(fields)).toEqual(expected);
});

test("roleRef is immutable", () => {
  const bound = (name: string) => ({ roleRef: { kind: "Role", name } });
  expect(useStrategy(apiVersion, "RoleBinding").updateErrors(bound("a"), bound("b"))).toEqual([
    'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"b"}: cannot change roleRef',
  ]);
});

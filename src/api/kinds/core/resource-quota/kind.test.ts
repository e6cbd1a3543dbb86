import { expect, test } from "vitest";
import { context, useStrategy } from "../../strategy.fixture.ts";

const { strategy, make, createErrors, updateErrors } = useStrategy("v1", "ResourceQuota");

const expression = (scopeName: string, operator: string, values?: string[]) => ({
  scopeSelector: { matchExpressions: [{ scopeName, operator, ...(values && { values }) }] },
});

test.each<[string, object, string[]]>([
  [
    "resources of all sorts",
    {
      hard: {
        ...{
          pods: "1",
          "requests.cpu": "1500m",
          "limits.memory": "1Gi",
          "count/jobs.batch": "1",
          configmaps: "1",
        },
        ...{ "requests.hugepages-2Mi": "2Mi", "requests.example.com/gpu": "4", "requests.storage": "1Ti" },
        "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
      },
    },
    [],
  ],
  [
    "an unknown resource",
    { hard: { jobs: "1" } },
    [
      'spec.hard[jobs]: Invalid value: "jobs": must be a standard resource type or fully qualified',
      'spec.hard[jobs]: Invalid value: "jobs": must be a standard resource for quota',
    ],
  ],
  [
    "a resource that no quota limits",
    { hard: { storage: "1" } },
    ['spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota'],
  ],
  [
    "negative and broken numbers",
    { hard: { pods: "-1", secrets: "500m" } },
    [
      'spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0',
      'spec.hard[secrets]: Invalid value: "500m": must be an integer',
    ],
  ],
  ["an unknown scope", { scopes: ["X"] }, ['spec.scopes: Invalid value: ["X"]: unsupported scope']],
  [
    "a scope for another resource",
    { hard: { "requests.cpu": "1", pods: "1" }, scopes: ["BestEffort"] },
    ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
  ],
  [
    "a scope of claims",
    {
      hard: { "requests.storage": "1", persistentvolumeclaims: "1" },
      ...expression("VolumeAttributesClass", "Exists"),
    },
    [],
  ],
  [
    "conflicting scopes",
    { scopes: ["Terminating", "NotTerminating"] },
    ['spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes'],
  ],
  ["a priority class", { hard: { pods: "1" }, ...expression("PriorityClass", "In", ["high"]) }, []],
  [
    "an operator without values",
    expression("PriorityClass", "In"),
    [
      "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
    ],
  ],
  [
    "an operator with needless values",
    expression("PriorityClass", "Exists", ["a"]),
    [
      "spec.scopeSelector.matchExpressions.values: Invalid value: [\"a\"]: must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
    ],
  ],
  [
    "a scope that only exists",
    expression("BestEffort", "DoesNotExist"),
    [
      "spec.scopeSelector.matchExpressions.operator: Invalid value: \"DoesNotExist\": must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
    ],
  ],
  [
    "an unknown operator",
    expression("PriorityClass", "Like"),
    ['spec.scopeSelector.matchExpressions.operator: Invalid value: "Like": not a valid selector operator'],
  ],
])("%s", (_, spec, expected) => {
  expect(createErrors({ spec })).toEqual(expected);
});

test("scopes are immutable, in any order", () => {
  const before = { spec: { scopes: ["BestEffort", "Terminating"] } };
  expect(updateErrors(before, { spec: { scopes: ["Terminating", "BestEffort"] } })).toEqual([]);
  expect(updateErrors(before, { spec: { scopes: ["BestEffort"] } })).toEqual([
    'spec.scopes: Invalid value: ["BestEffort"]: field is immutable',
  ]);
});

test("users do not write the status, and controllers not the spec", () => {
  const current = make({ spec: { hard: { pods: "1" } }, status: { used: { pods: "1" } } });
  const next = make({ spec: { hard: { pods: "2" } }, status: { used: { pods: "0" } } });
  const updated = structuredClone(next);
  strategy.prepareForUpdate?.(updated, current, context);
  expect(updated).toMatchObject({ spec: { hard: { pods: "2" } }, status: { used: { pods: "1" } } });
  strategy.prepareForStatusUpdate?.(next, current, context);
  expect(next).toMatchObject({ spec: { hard: { pods: "1" } }, status: { used: { pods: "0" } } });
});

test("warns of requests above limits", () => {
  const quota = make({
    spec: { hard: { cpu: "2", "limits.cpu": "1", "requests.memory": "1", "limits.memory": "1" } },
  });
  expect(strategy.warnings?.(quota, context)).toEqual([
    "ResourceQuota cpu (2) should be less than limits.cpu (1)",
  ]);
});

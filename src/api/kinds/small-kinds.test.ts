import { expect, test } from "vitest";
import { useStrategy } from "./strategy.fixture.ts";

test.each<[string, string, object, string[]]>([
  [
    "node.k8s.io/v1",
    "RuntimeClass",
    { handler: "A", overhead: { podFixed: { pods: "1" } } },
    [
      "handler: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
      'overhead.limits[pods]: Invalid value: "pods": must be a standard resource for containers',
    ],
  ],
  [
    "scheduling.k8s.io/v1",
    "PriorityClass",
    { value: 1_000_000_001 },
    ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
  ],
  [
    "scheduling.k8s.io/v1",
    "PriorityClass",
    { value: 1, metadata: { name: "system-mine" } },
    [
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class",
    ],
  ],
  [
    "scheduling.k8s.io/v1",
    "PriorityClass",
    {
      value: 2_000_001_000,
      metadata: { name: "system-node-critical" },
    },
    [],
  ],
  [
    "coordination.k8s.io/v1",
    "Lease",
    { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } },
    [
      "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
      "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ],
  ],
  [
    "apps/v1",
    "ControllerRevision",
    { revision: -1, data: [] },
    [
      "revision: Invalid value: -1: must be greater than or equal to 0",
      "data: Required value: data must be a valid JSON object",
    ],
  ],
  [
    "policy/v1",
    "PodDisruptionBudget",
    { spec: { minAvailable: 1, maxUnavailable: "200%" } },
    [
      'spec: Invalid value: {"minAvailable":1,"maxUnavailable":"200%"}: minAvailable and maxUnavailable cannot be both set',
      'spec.maxUnavailable: Invalid value: "200%": must not be greater than 100%',
    ],
  ],
])("create %s %s %j", (apiVersion, kind, fields, expected) => {
  expect(useStrategy(apiVersion, kind).createErrors(fields)).toEqual(expected);
});

test.each<[string, string, object, object, string[]]>([
  [
    "node.k8s.io/v1",
    "RuntimeClass",
    { handler: "a" },
    { handler: "b" },
    ['handler: Invalid value: "b": field is immutable'],
  ],
  [
    "scheduling.k8s.io/v1",
    "PriorityClass",
    { value: 1 },
    { value: 2, preemptionPolicy: "Never" },
    [
      "value: Forbidden: may not be changed in an update.",
      'preemptionPolicy: Invalid value: "Never": field is immutable',
    ],
  ],
  [
    "apps/v1",
    "ControllerRevision",
    { revision: 1, data: { a: 1 } },
    { revision: 2, data: { a: 2 } },
    ['data: Invalid value: {"a":2}: field is immutable'],
  ],
])("update %s %s %j to %j", (apiVersion, kind, before, after, expected) => {
  expect(useStrategy(apiVersion, kind).updateErrors(before, after)).toEqual(expected);
});

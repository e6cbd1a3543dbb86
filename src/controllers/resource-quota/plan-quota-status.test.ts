import { expect, test } from "vitest";
import type { KubeObject, ResourceQuota } from "../../api/meta/objects.ts";
import { makePod } from "../../api/pod/pod.fixture.ts";
import { evaluatorOf } from "../../api/quota/evaluators.ts";
import { formatUsage, parseUsage } from "../../api/quota/usage.ts";
import { measureUsage, planQuotaStatus } from "./plan-quota-status.ts";

type List = Record<string, string>;

const quotaOf = (spec: ResourceQuota["spec"], status?: ResourceQuota["status"]): ResourceQuota => ({
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name: "q", namespace: "default" },
  spec,
  ...(status && { status }),
});

test.each<[string, ResourceQuota, List, "settled" | "charged", object | undefined]>([
  [
    "a new quota",
    quotaOf({ hard: { pods: "1" } }),
    { pods: "3" },
    "charged",
    { hard: { pods: "1" }, used: { pods: "3" } },
  ],
  [
    "no change",
    quotaOf({ hard: { cpu: "1" } }, { hard: { cpu: "1000m" }, used: { cpu: "500m" } }),
    { cpu: "0.5" },
    "settled",
    undefined,
  ],
  [
    "a deletion",
    quotaOf({ hard: { pods: "2" } }, { hard: { pods: "2" }, used: { pods: "2" } }),
    { pods: "1" },
    "settled",
    { hard: { pods: "2" }, used: { pods: "1" } },
  ],
  [
    "a charge whose object may not be stored yet",
    quotaOf({ hard: { pods: "2" } }, { hard: { pods: "2" }, used: { pods: "2" } }),
    { pods: "1" },
    "charged",
    undefined,
  ],
  [
    "a new limit while objects are charged",
    quotaOf({ hard: { pods: "9", secrets: "9" } }, { hard: { pods: "2" }, used: { pods: "2" } }),
    { pods: "1", secrets: "4" },
    "charged",
    { hard: { pods: "9", secrets: "9" }, used: { pods: "2", secrets: "4" } },
  ],
  [
    "a removed limit",
    quotaOf(
      { hard: { pods: "9" } },
      { hard: { pods: "9", secrets: "9" }, used: { pods: "1", secrets: "1" } },
    ),
    { pods: "1" },
    "settled",
    { hard: { pods: "9" }, used: { pods: "1" } },
  ],
  [
    "a resource that cannot be measured",
    quotaOf({ hard: { pods: "9", "count/a.b": "1" } }, { hard: { pods: "9" }, used: { pods: "1" } }),
    { pods: "1" },
    "settled",
    { hard: { pods: "9", "count/a.b": "1" }, used: { pods: "1" } },
  ],
])("%s", (_, quota, usage, state, expected) => {
  const plan = planQuotaStatus(quota, { usage: parseUsage(usage), isSettled: state === "settled" });
  expect(plan).toEqual(expected);
});

test("measures objects in the scope of the quota, under the names that it limits", () => {
  const evaluator = evaluatorOf({ group: "", plural: "pods" });
  if (!evaluator) throw new Error("pods have no evaluator");
  const pod = (priorityClassName: string): KubeObject =>
    makePod({
      priorityClassName,
      containers: [{ name: "a", image: "a", resources: { requests: { cpu: "1" } } }],
    });
  const objects = [pod("high"), pod("high"), pod("low")];
  const matchExpressions = [{ scopeName: "PriorityClass", operator: "In", values: ["high"] }];
  const spec = {
    hard: { pods: "9", "requests.cpu": "9", secrets: "1" },
    scopeSelector: { matchExpressions },
  };
  const usage = measureUsage(quotaOf(spec), { evaluator, objects, now: 0 });
  expect(formatUsage(usage)).toEqual({ pods: "2", "requests.cpu": "2" });
  expect(formatUsage(measureUsage(quotaOf(spec), { evaluator, objects: [], now: 0 }))).toEqual({
    pods: "0",
    "requests.cpu": "0",
  });
});

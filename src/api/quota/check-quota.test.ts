import { expect, test } from "vitest";
import type { KubeObject, PodSpec, ResourceQuota } from "../meta/objects.ts";
import { makePod } from "../pod/pod.fixture.ts";
import { checkQuota } from "./check-quota.ts";
import { evaluatorOf, type QuotaWrite } from "./evaluators.ts";
import { formatUsage } from "./usage.ts";

const now = Date.parse("2026-01-02T03:04:05Z");

type List = Record<string, string>;

function quotaOf(hard: List, used: List, spec: ResourceQuota["spec"] = {}): ResourceQuota {
  const metadata = { name: "q", namespace: "default" };
  return {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata,
    spec: { ...spec, hard },
    status: { hard, used },
  };
}

function evaluator(plural: string, group = "") {
  const found = evaluatorOf({ group, plural });
  if (!found) throw new Error(`quotas ignore ${plural}`);
  return found;
}

const objectOf = (fields: object) =>
  ({ apiVersion: "v1", kind: "X", metadata: { name: "a" }, ...fields }) as KubeObject;
const container = (resources: object, name = "main") => ({ name, image: "a", resources });
const podWith = (resources: object, more: Partial<PodSpec> = {}) =>
  makePod({ containers: [container(resources)], ...more });
const create = (object: KubeObject): QuotaWrite => ({
  operation: "create",
  subresource: "",
  object,
  current: undefined,
});
const small = podWith({ requests: { cpu: "100m" } });

test.each<[string, ResourceQuota, KubeObject, object]>([
  [
    "charges what the pod uses of the limits",
    quotaOf(
      { pods: "2", "requests.cpu": "1", "limits.cpu": "1" },
      { pods: "1", "requests.cpu": "500m", "limits.cpu": "0" },
    ),
    podWith({ requests: { cpu: "100m", memory: "1Gi" }, limits: { cpu: "200m" } }),
    { kind: "charge", used: { pods: "2", "requests.cpu": "600m", "limits.cpu": "200m" } },
  ],
  [
    "admits up to the limit",
    quotaOf({ cpu: "1" }, { cpu: "900m" }),
    small,
    { kind: "charge", used: { cpu: "1" } },
  ],
  [
    "lists what is exceeded, sorted by name",
    quotaOf({ pods: "9", "requests.cpu": "1", cpu: "1" }, { pods: "1", "requests.cpu": "1", cpu: "950m" }),
    small,
    {
      kind: "reject",
      detail:
        "exceeded quota: q, requested: cpu=100m,requests.cpu=100m, used: cpu=950m,requests.cpu=1, limited: cpu=1,requests.cpu=1",
    },
  ],
  [
    "rejects a pod without the requests",
    quotaOf({ "requests.cpu": "1", "limits.memory": "1", pods: "1" }, {}),
    makePod({
      containers: [container({}, "b"), container({}, "a")],
      initContainers: [container({ limits: { memory: "1" } }, "i")],
    }),
    {
      kind: "reject",
      detail: "failed quota: q: must specify limits.memory for: a,b; requests.cpu for: a,b,i",
    },
  ],
  [
    "accepts resources of the pod instead",
    quotaOf({ "requests.cpu": "1" }, { "requests.cpu": "0" }),
    podWith({}, { resources: { requests: { cpu: "1" } } }),
    { kind: "charge", used: { "requests.cpu": "1" } },
  ],
  [
    "rejects while the usage is unknown",
    quotaOf({ pods: "1", "count/pods": "1" }, { pods: "0" }),
    small,
    { kind: "reject", detail: "status unknown for quota: q, resources: count/pods,pods" },
  ],
  [
    "ignores quotas of other resources",
    quotaOf({ secrets: "0" }, { secrets: "0" }),
    small,
    { kind: "unaffected" },
  ],
  [
    "ignores quotas of other scopes",
    quotaOf({ pods: "0" }, { pods: "0" }, { scopes: ["BestEffort"] }),
    small,
    { kind: "unaffected" },
  ],
])("%s", (_, quota, pod, expected) => {
  expect(checkQuota(quota, create(pod), { evaluator: evaluator("pods"), now })).toEqual(expected);
});

test("charges only what an update uses more, and all of it when the old object did not count", () => {
  const service = (type: string) => objectOf({ spec: { type, ports: [{ port: 1 }, { port: 2 }] } });
  const quota = quotaOf(
    { services: "1", "services.nodeports": "3" },
    { services: "1", "services.nodeports": "0" },
  );
  const update = (from: string, to: string) =>
    checkQuota(
      quota,
      { operation: "update", subresource: "", object: service(to), current: service(from) },
      { evaluator: evaluator("services"), now },
    );
  expect(update("ClusterIP", "NodePort")).toEqual({
    kind: "charge",
    used: { services: "1", "services.nodeports": "2" },
  });
  expect(update("NodePort", "ClusterIP")).toEqual({ kind: "unaffected" });

  const deadline = podWith({}, { activeDeadlineSeconds: 5 });
  const scoped = quotaOf({ pods: "1" }, { pods: "0" }, { scopes: ["Terminating"] });
  const write = { operation: "update", subresource: "", object: deadline, current: podWith({}) } as const;
  expect(checkQuota(scoped, write, { evaluator: evaluator("pods"), now })).toEqual({
    kind: "charge",
    used: { pods: "1" },
  });
});

test("counts what a status shows, also above the limit", () => {
  const claim = (allocated?: string) =>
    objectOf({
      spec: { resources: { requests: { storage: "1Gi" } } },
      ...(allocated && { status: { allocatedResources: { storage: allocated } } }),
    });
  const quota = quotaOf({ "requests.storage": "1Gi" }, { "requests.storage": "1Gi" });
  const write = {
    operation: "update",
    subresource: "status",
    object: claim("2Gi"),
    current: claim(),
  } as const;
  expect(checkQuota(quota, write, { evaluator: evaluator("persistentvolumeclaims"), now })).toEqual({
    kind: "charge",
    used: { "requests.storage": "2Gi" },
  });
});

const deleted = (seconds: number) => ({
  deletionTimestamp: new Date(now - seconds * 1_000).toISOString(),
  deletionGracePeriodSeconds: 30,
});

test.each<[string, string, KubeObject, List]>([
  [
    "a pod with huge pages, devices and overhead",
    "pods",
    podWith(
      {
        requests: { cpu: "1", "hugepages-2Mi": "4Mi", "a.com/gpu": "2" },
        limits: { cpu: "2", "hugepages-2Mi": "4Mi", "a.com/gpu": "2" },
      },
      { overhead: { cpu: "500m", memory: "1Gi" } },
    ),
    {
      ...{ pods: "1", "count/pods": "1", cpu: "1500m", "requests.cpu": "1500m", "limits.cpu": "2500m" },
      ...{ memory: "1Gi", "requests.memory": "1Gi", "hugepages-2Mi": "4Mi", "requests.hugepages-2Mi": "4Mi" },
      "requests.a.com/gpu": "2",
    },
  ],
  [
    "a pod that ended",
    "pods",
    { ...small, status: { phase: "Failed" } } as KubeObject,
    { "count/pods": "1" },
  ],
  [
    "a pod that is stuck in deletion",
    "pods",
    { ...small, metadata: { ...small.metadata, ...deleted(31) } } as KubeObject,
    { "count/pods": "1" },
  ],
  [
    "a pod that is being deleted",
    "pods",
    { ...small, metadata: { ...small.metadata, ...deleted(29) } } as KubeObject,
    { "count/pods": "1", pods: "1", cpu: "100m", "requests.cpu": "100m" },
  ],
  [
    "a load balancer that allocates no node ports but names one",
    "services",
    objectOf({
      spec: {
        type: "LoadBalancer",
        allocateLoadBalancerNodePorts: false,
        ports: [{ port: 1, nodePort: 30000 }, { port: 2 }],
      },
    }),
    { "count/services": "1", services: "1", "services.nodeports": "1", "services.loadbalancers": "1" },
  ],
  [
    "a claim of a class",
    "persistentvolumeclaims",
    objectOf({ spec: { storageClassName: "gold", resources: { requests: { storage: "1500m" } } } }),
    {
      ...{ persistentvolumeclaims: "1", "count/persistentvolumeclaims": "1", "requests.storage": "2" },
      "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
      "gold.storageclass.storage.k8s.io/requests.storage": "2",
    },
  ],
  ["a secret", "secrets", objectOf({}), { secrets: "1", "count/secrets": "1" }],
])("%s", (_, plural, object, expected) => {
  expect(formatUsage(evaluator(plural).usage(object, now))).toEqual(expected);
});

test("counts objects of other groups by their full name, and no events", () => {
  expect(formatUsage(evaluator("jobs", "batch").usage(objectOf({}), now))).toEqual({
    "count/jobs.batch": "1",
  });
  expect(evaluatorOf({ group: "", plural: "events" })).toBeUndefined();
  expect(evaluatorOf({ group: "events.k8s.io", plural: "events" })).toBeUndefined();
});

const high = podWith({}, { priorityClassName: "high" });
const across = podWith(
  {},
  {
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "a", namespaces: ["b"] }],
      },
    },
  },
);

test.each<[string, KubeObject, string, string[] | undefined, boolean]>([
  ["Terminating", podWith({}, { activeDeadlineSeconds: 1 }), "Exists", undefined, true],
  ["Terminating", podWith({}), "Exists", undefined, false],
  ["NotTerminating", podWith({}), "Exists", undefined, true],
  ["BestEffort", podWith({}), "Exists", undefined, true],
  ["BestEffort", small, "Exists", undefined, false],
  ["NotBestEffort", small, "Exists", undefined, true],
  ["PriorityClass", high, "Exists", undefined, true],
  ["PriorityClass", high, "In", ["high"], true],
  ["PriorityClass", high, "NotIn", ["high"], false],
  ["PriorityClass", podWith({}), "NotIn", ["high"], true],
  ["PriorityClass", podWith({}), "DoesNotExist", undefined, true],
  ["PriorityClass", podWith({}), "In", ["high"], false],
  ["CrossNamespacePodAffinity", across, "Exists", undefined, true],
  ["CrossNamespacePodAffinity", podWith({}), "Exists", undefined, false],
  ["VolumeAttributesClass", podWith({}), "Exists", undefined, false],
])("scope %s %#", (scopeName, pod, operator, values, expected) => {
  const requirement = { scopeName, operator, ...(values && { values }) };
  expect(evaluator("pods").matchesScope(pod, requirement)).toBe(expected);
});

test("a claim has the scope of the class that it requests or has", () => {
  const claim = objectOf({
    spec: { volumeAttributesClassName: "silver" },
    status: { currentVolumeAttributesClassName: "gold" },
  });
  const matches = (operator: string, values?: string[]) =>
    evaluator("persistentvolumeclaims").matchesScope(claim, {
      scopeName: "VolumeAttributesClass",
      operator,
      values,
    });
  expect([matches("Exists"), matches("In", ["gold"]), matches("In", ["iron"])]).toEqual([true, true, false]);
});

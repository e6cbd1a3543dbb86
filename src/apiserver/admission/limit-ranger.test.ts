import { expect, test } from "vitest";
import type { LimitRange, LimitRangeItem, PersistentVolumeClaim, PodSpec } from "../../api/meta/objects.ts";
import { makePod } from "../../api/pod/pod.fixture.ts";
import { applyLimitRangeDefaults, claimLimitProblem, podLimitProblem } from "./limit-ranger.ts";

const limitRange = (...limits: LimitRangeItem[]): LimitRange => ({
  apiVersion: "v1",
  kind: "LimitRange",
  metadata: { name: "limits", namespace: "default" },
  spec: { limits },
});

const container = (name: string, requests?: Record<string, string>, limits?: Record<string, string>) => ({
  name,
  image: "a",
  ...((requests || limits) && {
    resources: { ...(requests && { requests }), ...(limits && { limits }) },
  }),
});

const defaults = limitRange(
  { type: "Container", default: { memory: "1Gi", cpu: "1" }, defaultRequest: { cpu: "100m" } },
  { type: "Pod", max: { cpu: "8" } },
);

test("sets the amounts that containers lack and says so in an annotation", () => {
  const pod = makePod({
    containers: [container("main"), container("own", { cpu: "2" }, { cpu: "3" })],
    initContainers: [container("init", { cpu: "1" })],
  });
  applyLimitRangeDefaults(pod, defaults);
  expect(pod.spec?.containers.map(({ resources }) => resources)).toEqual([
    { requests: { cpu: "100m" }, limits: { cpu: "1", memory: "1Gi" } },
    { requests: { cpu: "2" }, limits: { cpu: "3", memory: "1Gi" } },
  ]);
  expect(pod.spec?.initContainers?.[0]?.resources?.limits).toEqual({ cpu: "1", memory: "1Gi" });
  expect(pod.metadata.annotations).toMatchObject({
    "kubernetes.io/limit-ranger":
      "LimitRanger plugin set: cpu request for container main; cpu, memory limit for container main; memory limit for container own; cpu, memory limit for init container init",
  });
});

test("leaves a pod alone that has all amounts", () => {
  const pod = makePod({ containers: [container("main", { cpu: "1" }, { cpu: "1", memory: "1" })] });
  const before = structuredClone(pod);
  applyLimitRangeDefaults(pod, defaults);
  expect(pod).toEqual(before);
});

const min: LimitRangeItem = { type: "Container", min: { cpu: "100m" } };
const max: LimitRangeItem = { type: "Container", max: { memory: "1Gi" } };
const ratio: LimitRangeItem = { type: "Container", maxLimitRequestRatio: { cpu: "1500m" } };
const podMax: LimitRangeItem = { type: "Pod", max: { cpu: "2" } };
const main = (requests?: Record<string, string>, limits?: Record<string, string>) => ({
  containers: [container("main", requests, limits)],
});

test.each<[string, LimitRangeItem, Partial<PodSpec>, string | undefined]>([
  ["no request", min, main(), "minimum cpu usage per Container is 100m.  No request is specified"],
  [
    "a small request",
    min,
    main({ cpu: "99m" }),
    "minimum cpu usage per Container is 100m, but request is 99m",
  ],
  [
    "a small limit",
    min,
    main({ cpu: "100m" }, { cpu: "50m" }),
    "minimum cpu usage per Container is 100m, but limit is 50m",
  ],
  ["the minimum", min, main({ cpu: "100m" }), undefined],
  [
    "no limit",
    max,
    main({ memory: "1" }),
    "maximum memory usage per Container is 1Gi.  No limit is specified",
  ],
  [
    "a large limit",
    max,
    main({}, { memory: "2Gi" }),
    "maximum memory usage per Container is 1Gi, but limit is 2Gi",
  ],
  [
    "a large request",
    max,
    main({ memory: "2Gi" }, { memory: "1Gi" }),
    "maximum memory usage per Container is 1Gi, but request is 2Gi",
  ],
  [
    "an amount too large for thousandths",
    max,
    main({}, { memory: "8Ei" }),
    "maximum memory usage per Container is 1Gi, but limit is 8Ei",
  ],
  [
    "a request of zero for a ratio",
    ratio,
    main({ cpu: "0" }, { cpu: "1" }),
    "cpu max limit to request ratio per Container is 1500m, but no request is specified or request is 0",
  ],
  [
    "a limit of zero for a ratio",
    ratio,
    main({ cpu: "1" }, { cpu: "0" }),
    "cpu max limit to request ratio per Container is 1500m, but no limit is specified or limit is 0",
  ],
  [
    "a large ratio",
    ratio,
    main({ cpu: "3" }, { cpu: "5" }),
    "cpu max limit to request ratio per Container is 1500m, but provided ratio is 1.666667",
  ],
  ["the ratio", ratio, main({ cpu: "2" }, { cpu: "3" }), undefined],
  [
    "the sum of containers",
    podMax,
    { containers: [container("a", {}, { cpu: "1" }), container("b", {}, { cpu: "1500m" })] },
    "maximum cpu usage per Pod is 2, but limit is 2500m",
  ],
  [
    "an init container",
    podMax,
    { ...main({}, { cpu: "1" }), initContainers: [container("init", {}, { cpu: "3" })] },
    "maximum cpu usage per Pod is 2, but limit is 3",
  ],
  ["resources of the pod", podMax, { ...main(), resources: { limits: { cpu: "2" } } }, undefined],
  [
    "several problems, each once",
    { type: "Container", min: { cpu: "1" }, max: { cpu: "2" } },
    { containers: [container("a"), container("b")] },
    "[minimum cpu usage per Container is 1.  No request is specified, maximum cpu usage per Container is 2.  No limit is specified]",
  ],
  ["limits of claims", { type: "PersistentVolumeClaim", max: { storage: "1" } }, main(), undefined],
])("%s", (_, item, spec, expected) => {
  expect(podLimitProblem(makePod(spec), limitRange(item))).toBe(expected);
});

test.each<[string, string | undefined, string | undefined]>([
  ["the size of the range", "2Gi", undefined],
  ["a small claim", "1Gi", "minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi"],
  ["a large claim", "4Gi", "maximum storage usage per PersistentVolumeClaim is 3Gi, but request is 4Gi"],
  [
    "a claim without a request",
    undefined,
    "[minimum storage usage per PersistentVolumeClaim is 2Gi.  No request is specified, maximum storage usage per PersistentVolumeClaim is 3Gi.  No request is specified]",
  ],
])("%s", (_, storage, expected) => {
  const claim: PersistentVolumeClaim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "data" },
    spec: { resources: storage ? { requests: { storage } } : {} },
  };
  const item = { type: "PersistentVolumeClaim", min: { storage: "2Gi" }, max: { storage: "3Gi" } };
  expect(claimLimitProblem(claim, limitRange(item))).toBe(expected);
});

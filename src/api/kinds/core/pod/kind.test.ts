import { describe, expect, test } from "vitest";
import { defaultFeatures } from "../../../meta/feature-gates.ts";
import type { Pod, PodSpec } from "../../../meta/objects.ts";
import { makePod, sentences } from "../../../pod/pod.fixture.ts";
import { podKind } from "./kind.ts";

const { strategy } = podKind;

const context = { features: defaultFeatures, now: 0 };

function create(spec: Partial<PodSpec> = {}): Pod {
  const pod = makePod(spec);
  strategy.prepareForCreate?.(pod, context);
  return pod;
}

describe("create", () => {
  test("starts Pending at generation 1 and ignores the status in the request", () => {
    const pod = { ...makePod(), status: { phase: "Running", podIP: "10.0.0.1" } };
    strategy.prepareForCreate?.(pod, context);
    expect(pod.status).toEqual({ phase: "Pending", qosClass: "BestEffort" });
    expect(pod.metadata.generation).toBe(1);
    expect(sentences(strategy.validate?.(pod, context) ?? [])).toEqual([]);
  });

  test("a pod with scheduling gates starts with PodScheduled False", () => {
    expect(create({ schedulingGates: [{ name: "a" }] }).status?.conditions).toEqual([
      {
        type: "PodScheduled",
        status: "False",
        lastTransitionTime: "1970-01-01T00:00:00Z",
        reason: "SchedulingGated",
        message: "Scheduling is blocked due to non-empty scheduling gates",
      },
    ]);
  });

  test("matchLabelKeys become part of the selector", () => {
    const term = {
      topologyKey: "zone",
      labelSelector: {},
      matchLabelKeys: ["v"],
      mismatchLabelKeys: ["w", "x"],
    };
    const pod = makePod({
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
    });
    pod.metadata.labels = { v: "1", w: "2" };
    strategy.prepareForCreate?.(pod, context);
    expect(term.labelSelector).toEqual({
      matchExpressions: [
        { key: "v", operator: "In", values: ["1"] },
        { key: "w", operator: "NotIn", values: ["2"] },
      ],
    });
    expect(sentences(strategy.validate?.(pod, context) ?? [])).toEqual([]);
  });
});

describe("quality of service", () => {
  const both = { cpu: "1", memory: "1Gi" };
  test.each<[string, PodSpec["containers"][number]["resources"][]]>([
    ["BestEffort", [{}]],
    ["BestEffort", [{ requests: { "ephemeral-storage": "1Gi" } }]],
    ["Guaranteed", [{ limits: both }]],
    ["Guaranteed", [{ limits: both, requests: { cpu: "1000m", memory: "1024Mi" } }]],
    ["Burstable", [{ limits: both, requests: { cpu: "500m" } }]],
    ["Burstable", [{ requests: both }]],
    ["Burstable", [{ limits: { cpu: "1" } }]],
    ["Burstable", [{ limits: both }, {}]],
  ])("%s %j", (qosClass, resources) => {
    const containers = resources.map((each, i) => ({ name: `c${i}`, image: "a", resources: each }));
    expect(create({ containers }).status?.qosClass).toBe(qosClass);
  });

  test("pod-level resources take precedence", () => {
    const containers = [{ name: "a", image: "a", resources: { requests: { cpu: "100m" } } }];
    const resources = { limits: both, requests: both };
    expect(create({ containers, resources }).status?.qosClass).toBe("Guaranteed");
  });
});

describe("update", () => {
  test("increments the generation with the spec and keeps the status", () => {
    const current = { ...create(), status: { phase: "Running" } };
    const same = { ...structuredClone(current), status: {} };
    strategy.prepareForUpdate?.(same, current, context);
    expect(same.metadata.generation).toBe(1);
    expect(same.status).toEqual({ phase: "Running" });
    const changed = structuredClone(current);
    Object.assign(changed.spec?.containers[0] ?? {}, { image: "new" });
    strategy.prepareForUpdate?.(changed, current, context);
    expect(changed.metadata.generation).toBe(2);
  });

  test("a status update changes neither spec nor owners and keeps the generation", () => {
    const current: Pod = {
      ...create(),
      status: {
        qosClass: "BestEffort",
        observedGeneration: 3,
        conditions: [{ type: "Ready", status: "True", observedGeneration: 3 }],
      },
    };
    const next: Pod = {
      ...structuredClone(current),
      metadata: { ...current.metadata, ownerReferences: [] },
      spec: { containers: [] },
      status: { phase: "Running", conditions: [{ type: "Ready", status: "False" }] },
    };
    strategy.prepareForStatusUpdate?.(next, current, context);
    expect(next.spec).toEqual(current.spec);
    expect(next.metadata.ownerReferences).toBeUndefined();
    expect(next.status).toEqual({
      phase: "Running",
      qosClass: "BestEffort",
      observedGeneration: 3,
      conditions: [{ type: "Ready", status: "False", observedGeneration: 3 }],
    });
  });
});

test.each<[Partial<PodSpec>, string, number | undefined, number]>([
  [{}, "Pending", undefined, 0],
  [{ nodeName: "n" }, "Running", undefined, 30],
  [{ nodeName: "n" }, "Running", 5, 5],
  [{ nodeName: "n" }, "Running", 0, 0],
  [{ nodeName: "n" }, "Running", -1, 1],
  [{ nodeName: "n" }, "Succeeded", 5, 0],
  [{ nodeName: "n" }, "Failed", undefined, 0],
])("a delete of %j in phase %s asked for %s takes %d s", (spec, phase, asked, expected) => {
  const pod = { ...makePod(spec), status: { phase } };
  expect(strategy.gracePeriodSeconds?.(pod, { gracePeriodSeconds: asked })).toBe(expected);
});

test("selectable fields", () => {
  const pod: Pod = {
    ...makePod({ nodeName: "n", hostNetwork: true, serviceAccountName: "robot" }),
    status: { phase: "Running", podIPs: [{ ip: "10.0.0.1" }], nominatedNodeName: "m" },
  };
  const values = Object.entries(strategy.selectableFields ?? {}).map(([field, read]) => [field, read(pod)]);
  expect(Object.fromEntries(values)).toEqual({
    "spec.nodeName": "n",
    "spec.host": "n",
    "spec.restartPolicy": "Always",
    "spec.schedulerName": "default-scheduler",
    "spec.serviceAccountName": "robot",
    "spec.hostNetwork": "true",
    "status.phase": "Running",
    "status.podIP": "10.0.0.1",
    "status.podIPs": "",
    "status.nominatedNodeName": "m",
  });
});

test("an update that omits priority and preemptionPolicy keeps the stored values", () => {
  const next = makePod();
  strategy.prepareForUpdate?.(next, makePod({ priority: 5, preemptionPolicy: "Never" }), context);
  expect(next.spec).toMatchObject({ priority: 5, preemptionPolicy: "Never" });
});

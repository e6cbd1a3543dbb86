import { expect, test } from "vitest";
import type { Event, Node, Pod } from "../../api/meta/objects.ts";
import type { PodStart } from "../measure/start-signal.ts";
import { viewNode } from "./feed-sources.ts";
import { viewEvent, viewFinished, viewPod, viewProbes } from "./view-pod.ts";

const createdMs = Date.parse("2030-01-01T00:00:00Z");
const at = (seconds: number) => new Date(createdMs + seconds * 1_000).toISOString();
const nasty = '</script><img src=x onerror="alert(1)">\u2028\n\u202e';

test("views a starting pod with stage, time, pulls and arbitrary names", () => {
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      uid: "u",
      namespace: "default",
      name: "web-1",
      creationTimestamp: at(0),
      labels: { "pod-template-hash": "5d4f" },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d4f", uid: "r", controller: true },
      ],
    },
    spec: { nodeName: "n1", containers: [{ name: "c", image: nasty }] },
    status: {
      conditions: [
        { type: "PodScheduled", status: "True", lastTransitionTime: at(1) },
        { type: "PodReadyToStartContainers", status: "True", lastTransitionTime: at(2) },
      ],
    },
  };
  const pull = {
    container: "c",
    image: nasty,
    startedAt: at(2),
    offset: 5 * 2 ** 20,
    total: 10 * 2 ** 20,
    layers: [],
  };
  const view = viewPod({ pod, events: [], pulls: [pull], budgets: [], advice: [], now: createdMs + 4_000 });
  expect(view).toMatchObject({
    uid: "u",
    node: "n1",
    owner: "Deployment/web",
    createdMs,
    stage: "pulling",
    since: at(2),
    because: expect.stringContaining(nasty),
    pulls: [pull],
    probes: [],
  });
  expect(view.spans).toContainEqual({ name: "scheduling", startMs: createdMs, endMs: createdMs + 1_000 });
  expect(JSON.parse(JSON.stringify(view)).because).toBe(view.because);
});

const unhealthy = (count: number, second: number, more: Partial<Event> = {}): Event => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: {},
  involvedObject: { fieldPath: "spec.containers{c}" },
  reason: "Unhealthy",
  message: "Startup probe failed: no",
  lastTimestamp: at(second),
  count,
  ...more,
});

const inOther = { involvedObject: { fieldPath: "spec.containers{other}" } };
test.each([
  {
    it: "come from the kubelet",
    budgets: [{ container: "c", failures: 7, secondsLeft: 230 }],
    events: [unhealthy(2, 90)],
    failures: 7,
  },
  {
    it: "never exceed the threshold",
    budgets: [{ container: "c", failures: 70, secondsLeft: 0 }],
    events: [],
    failures: 30,
  },
  { it: "are 0 at first", budgets: [], events: [], failures: 0 },
  { it: "are counted from events", budgets: [], events: [unhealthy(2, 30), unhealthy(1, 40)], failures: 3 },
  { it: "exclude events before this start", budgets: [], events: [unhealthy(9, 5)], failures: 0 },
  // After 35 seconds with a period of ten seconds there were at most four probes.
  { it: "never exceed the number of probes", budgets: [], events: [unhealthy(25, 44)], failures: 4 },
  { it: "exclude other containers", budgets: [], events: [unhealthy(2, 30, inOther)], failures: 0 },
  {
    it: "exclude other probes",
    budgets: [],
    events: [unhealthy(2, 30, { message: "Readiness probe failed" })],
    failures: 0,
  },
])("failures of a startup probe $it", ({ budgets, events, failures }) => {
  const status = { name: "c", image: "", imageID: "", ready: false, restartCount: 0 };
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {},
    spec: {
      containers: [
        { name: "c", startupProbe: { failureThreshold: 30 } },
        { name: "up", startupProbe: {} },
        { name: "waits", startupProbe: {} },
        { name: "plain" },
      ],
    },
    status: {
      containerStatuses: [
        { ...status, started: false, state: { running: { startedAt: at(10) } } },
        { ...status, name: "up", started: true, state: { running: { startedAt: at(10) } } },
        { ...status, name: "waits", started: false, state: { waiting: {} } },
        { ...status, name: "plain", started: false, state: { running: { startedAt: at(10) } } },
      ],
    },
  };
  expect(viewProbes({ pod, events, budgets, now: createdMs + 45_000 })).toEqual([
    { container: "c", failures, threshold: 30, periodSeconds: 10 },
  ]);
});

const start = (ends: PodStart["ends"]): PodStart => ({
  pod: { uid: "u", namespace: "a", name: "web-1", node: "n1" },
  class: {
    namespace: "a",
    ownerKind: "ReplicaSet",
    ownerName: "web-5d4f",
    revision: "5d4f",
    runtimeClass: "gvisor",
    storageClasses: ["fast"],
    volumes: 1,
    chosen: {},
  },
  createdMs,
  beganMs: createdMs,
  ends,
  pulls: [],
  restarts: 0,
  userError: undefined,
});
const ms = (seconds: number) => createdMs + seconds * 1_000;

test.each([
  {
    it: "without init containers",
    ends: { scheduling: ms(1), sandbox: ms(3), containers: ms(6), readiness: ms(10) },
    stages: { scheduling: 1, sandbox: 2, containers: 3, readiness: 4 },
  },
  {
    it: "with init containers",
    ends: { scheduling: ms(1), sandbox: ms(3), init: ms(4), containers: ms(6), readiness: ms(10) },
    stages: { scheduling: 1, sandbox: 2, init: 1, containers: 2, readiness: 4 },
  },
  {
    it: "with unknown stages",
    ends: { scheduling: ms(1), containers: ms(6), readiness: ms(10) },
    stages: { scheduling: 1, readiness: 4 },
  },
  {
    it: "with times of different clocks",
    ends: { scheduling: ms(2), sandbox: ms(1), containers: ms(6), readiness: ms(10) },
    stages: { scheduling: 2, sandbox: 0, containers: 5, readiness: 4 },
  },
])("views a finished start $it", ({ ends, stages }) => {
  expect(viewFinished(start(ends))).toMatchObject({
    owner: "Deployment/web",
    revision: "5d4f",
    runtimeClass: "gvisor",
    storageClasses: ["fast"],
    createdMs,
    readyMs: ms(10),
    stages,
  });
});

test("3085-16: a finished start begins when the last scheduling gate is removed", () => {
  const ends = { scheduling: ms(61), sandbox: ms(62), containers: ms(63), readiness: ms(64) };
  expect(viewFinished({ ...start(ends), beganMs: ms(60) })).toMatchObject({
    createdMs: ms(60),
    readyMs: ms(64),
    stages: { scheduling: 1 },
  });
});

test("omits a start whose end was not observed", () => {
  expect(viewFinished(start({ scheduling: ms(1) }))).toBeUndefined();
});

test.each([
  [[{ type: "Ready", status: "True" }], true],
  [[{ type: "Ready", status: "Unknown" }], false],
  [[], false],
])("views a node with conditions %j as ready: %s", (conditions, ready) => {
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1" },
    status: {
      conditions,
      nodeInfo: { containerRuntimeVersion: "containerd://2.1.9", kubeletVersion: "v1.36.0" },
    },
  } as Node;
  expect(viewNode(node, { pods: 3, starting: 1 })).toEqual({
    name: "n1",
    ready,
    pods: 3,
    starting: 1,
    runtime: "containerd://2.1.9",
    kubelet: "v1.36.0",
  });
});

const about = { kind: "Pod", namespace: "a", name: "p" };
test.each([
  [
    { lastTimestamp: at(5), count: 4 },
    { time: at(5), count: 4, object: "Pod a/p" },
  ],
  [
    { eventTime: at(1), series: { count: 7, lastObservedTime: at(6) } },
    { time: at(6), count: 7, object: "Pod a/p" },
  ],
  [{ eventTime: at(1) }, { time: at(1), count: 1 }],
  [{ metadata: { creationTimestamp: at(2) } }, { time: at(2) }],
  [{ involvedObject: { kind: "Node", name: "n1" } }, { object: "Node n1" }],
  [{ message: "x".repeat(100_000) }, { message: "x".repeat(2_000) }],
  [{ message: nasty }, { message: nasty }],
])("views the event %j", (event, view) => {
  expect(
    viewEvent({ apiVersion: "v1", kind: "Event", metadata: {}, involvedObject: about, ...event }),
  ).toMatchObject(view);
});

import { expect, test } from "vitest";
import { explainPod } from "../../explain/explain-pod.ts";
import { waterfall } from "../../explain/waterfall.ts";
import { findUserError, readPod } from "./read-pod.ts";
import { at, type PodSketch, running, sketchPod } from "./start.fixture.ts";
import { classOf } from "./start-signal.ts";
import { trimPod } from "./trim-pod.ts";

const chosen = { chosenLabels: ["team"], chosenAnnotations: ["tier"] };
const options = { ...chosen, share: (text: string) => text };
const sources = {
  ...chosen,
  storageClassOf: (_: string, claim: string) => ({ data: "fast", "web-0-scratch": "local" })[claim],
};

const owned: PodSketch = {
  metadata: {
    labels: { team: "shop", app: "web", "controller-revision-hash": "web-7" },
    annotations: { tier: "gold", note: "x".repeat(1_000) },
    ownerReferences: [
      { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "u", controller: true },
    ],
    managedFields: [{ manager: "kubelet" }],
  },
  spec: {
    runtimeClassName: "microvm",
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: "data" } },
      { name: "more", persistentVolumeClaim: { claimName: "data" } },
      { name: "scratch", ephemeral: {} },
      { name: "conf", configMap: { name: "conf" } },
      { name: "kube-api-access-x7k2p", projected: {} },
    ],
  },
};
const waiting = (reason: string, message = "no") => ({
  containers: [{ state: { waiting: { reason, message } } }],
});
const up = { scheduled: "True 15:33:46", startTime: "15:33:47", sandbox: "True 15:33:49" };
const sketches: readonly PodSketch[] = [
  {},
  { spec: { nodeName: undefined, schedulingGates: [{ name: "quota" }] } },
  owned,
  { ...up, sandbox: "False 15:33:47" },
  { ...up, ...waiting("ImagePullBackOff") },
  { ...up, ...waiting("CreateContainerConfigError", 'secret "x" not found') },
  { ...up, init: true, initialized: "False 15:33:47" },
  { ...up, containers: [running("15:33:52", 3)] },
  {
    ...up,
    containers: [{ ...running("15:33:52"), started: false }],
    spec: { containers: [{ name: "c0", startupProbe: { periodSeconds: 5 } }] },
  },
  { ...up, containers: [{ ...running("15:33:52"), started: true, ready: true }], ready: "True 15:33:57" },
  { ...up, phase: "Failed", deleted: "16:00:00" },
  {
    ...up,
    containers: [{ state: { terminated: { exitCode: 137, reason: "OOMKilled" } } }],
    spec: { containers: [{ name: "c0", resources: { limits: { memory: "16Mi" } } }] },
  },
];

test.each(sketches)("trimming does not change what is read from %j", (sketch) => {
  const pod = sketchPod(sketch);
  const trimmed = trimPod(pod, options);
  const facts = { events: [], pulls: [], budgets: [], advice: [], now: Date.parse(at("16:00:00")) };
  expect(readPod(trimmed)).toEqual(readPod(pod));
  expect(classOf(trimmed, sources)).toEqual(classOf(pod, sources));
  expect(findUserError(trimmed)).toEqual(findUserError(pod));
  expect(waterfall(trimmed)).toEqual(waterfall(pod));
  expect(explainPod({ ...facts, pod: trimmed })).toEqual(explainPod({ ...facts, pod }));
});

test("3085-12: determines the class of a pod, without the volume of its service account", () => {
  expect(classOf(sketchPod(owned), sources)).toEqual({
    namespace: "shop",
    ownerKind: "StatefulSet",
    ownerName: "web",
    revision: "web-7",
    runtimeClass: "microvm",
    storageClasses: ["fast", "local"],
    volumes: 4,
    chosen: { team: "shop", tier: "gold" },
  });
  expect(classOf(sketchPod({}), sources)).toMatchObject({
    ownerKind: "Pod",
    ownerName: "web-0",
    chosen: { team: "", tier: "" },
  });
});

test("keeps only what is read and no values that may be secret", () => {
  const pod = sketchPod({
    ...owned,
    spec: {
      containers: [
        {
          name: "c0",
          env: [
            { name: "A", value: "secret" },
            { name: "B", valueFrom: {} },
          ],
        },
      ],
    },
  });
  const text = JSON.stringify(trimPod(pod, options));
  expect(text).not.toMatch(/secret|managedFields|"note"|"app"/);
  expect(text).toContain('"B"');
});

import { expect, test } from "vitest";
import type { Deployment, Pod, ReplicaSet } from "../api/meta/objects.ts";
import { explainDeployment, explainReplicaSet } from "./explain-replicas.ts";

const now = Date.parse("2026-01-01T00:01:00Z");

const pod = (name: string, more: Partial<Pod> & { ready?: boolean } = {}): Pod => {
  const { ready = false, ...rest } = more;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "shop", creationTimestamp: "2026-01-01T00:00:00Z" },
    status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
    ...rest,
  };
};
const broken = (name: string): Pod =>
  pod(name, {
    status: {
      conditions: [{ type: "FailingToStart", status: "True", reason: "InvalidImageName", message: "no" }],
    },
  });

const replicaSet = (
  name: string,
  revision: number | string,
  replicas: number,
  more: object = {},
): ReplicaSet => ({
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  metadata: {
    name,
    namespace: "shop",
    annotations: { "deployment.kubernetes.io/revision": String(revision) },
  },
  spec: { replicas } as ReplicaSet["spec"],
  ...more,
});
const deployment = (spec: object = {}, more: Partial<Deployment> = {}): Deployment => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: "web",
    namespace: "shop",
    generation: 2,
    annotations: { "deployment.kubernetes.io/revision": "2" },
  },
  spec: { replicas: 2, ...spec } as Deployment["spec"],
  status: { observedGeneration: 2 },
  ...more,
});
const old = { replicaSet: replicaSet("web-a", 1, 1), pods: [pod("web-a-1", { ready: true })] };
const failure = { type: "ReplicaFailure", status: "True", message: "exceeded quota: small" };

test.each([
  {
    name: "complete",
    facts: {
      deployment: deployment(),
      replicaSets: [
        {
          replicaSet: replicaSet("web-b", 2, 2),
          pods: [pod("web-b-1", { ready: true }), pod("web-b-2", { ready: true })],
        },
      ],
    },
    because: /^All pods are ready\.$/,
    transient: true,
  },
  {
    name: "the pod of the current template that fails permanently",
    facts: {
      deployment: deployment(),
      replicaSets: [
        old,
        { replicaSet: replicaSet("web-b", 2, 2), pods: [pod("web-b-1"), broken("web-b-2")] },
      ],
    },
    because: /^The rollout waits for pod web-b-2; 1 of 2 pods are ready\.$/,
    transient: true,
    blockingPod: "web-b-2",
  },
  {
    name: "revisions that a JavaScript number cannot distinguish",
    facts: {
      deployment: deployment(
        {},
        {
          metadata: {
            name: "web",
            namespace: "shop",
            generation: 2,
            annotations: { "deployment.kubernetes.io/revision": "3546343826724305833" },
          },
        },
      ),
      replicaSets: [
        { replicaSet: replicaSet("web-a", "3546343826724305832", 1), pods: [broken("web-a-1")] },
        { replicaSet: replicaSet("web-b", "3546343826724305833", 1), pods: [pod("web-b-1")] },
      ],
    },
    because: /^The rollout waits for pod web-b-1;/,
    transient: true,
    blockingPod: "web-b-1",
  },
  {
    name: "pods that cannot be created",
    facts: {
      deployment: deployment(),
      replicaSets: [
        old,
        { replicaSet: replicaSet("web-b", 2, 1, { status: { conditions: [failure] } }), pods: [] },
      ],
    },
    because: /^0 of 1 pods of ReplicaSet web-b exist: exceeded quota: small\.$/,
    transient: true,
    fix: /kubectl describe replicaset web-b -n shop$/,
  },
  {
    name: "paused",
    facts: { deployment: deployment({ paused: true }), replicaSets: [old] },
    because: /1 of 2 pods have the current template; the rollout is paused/,
    transient: false,
    fix: /kubectl rollout resume deployment web -n shop$/,
  },
  {
    name: "the progress deadline has passed",
    facts: {
      deployment: deployment(
        { progressDeadlineSeconds: 60 },
        {
          status: {
            observedGeneration: 2,
            conditions: [{ type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" }],
          },
        },
      ),
      replicaSets: [{ replicaSet: replicaSet("web-b", 2, 1), pods: [broken("web-b-1")] }],
    },
    because:
      /no progress for 60 s \(progressDeadlineSeconds\) and waits for pod web-b-1; 0 of 2 pods are ready/,
    transient: true,
    fix: /kubectl rollout undo deployment web -n shop$/,
    blockingPod: "web-b-1",
  },
  {
    name: "no controller has processed it",
    facts: { deployment: deployment({}, { status: { observedGeneration: 1 } }), replicaSets: [] },
    because: /has not processed the last change yet/,
    transient: true,
    fix: /controller manager is running/,
  },
])("a Deployment: $name", ({ facts, because, transient, fix, blockingPod }) => {
  const explanation = explainDeployment({ ...facts, now });
  expect(explanation.because).toMatch(because);
  expect(explanation.isTransient).toBe(transient);
  expect(explanation.blockingPod).toBe(blockingPod);
  if (fix) expect(explanation.fix).toMatch(fix);
  else expect(explanation.fix).toBeUndefined();
});

test.each([
  { name: "complete", replicas: 1, pods: [pod("p", { ready: true })], because: /^All pods are ready\.$/ },
  { name: "scaled to zero", replicas: 0, pods: [], because: /spec\.replicas is 0/ },
  {
    name: "not ready",
    replicas: 1,
    pods: [pod("p")],
    because: /^The ReplicaSet waits for pod p; 0 of 1 pods are ready\.$/,
  },
  {
    name: "a pod is missing",
    replicas: 1,
    pods: [],
    events: [{ reason: "FailedCreate", message: 'serviceaccount "x" not found' }],
    because: /^0 of 1 pods of ReplicaSet rs exist: serviceaccount "x" not found\.$/,
  },
])("a ReplicaSet: $name", ({ replicas, pods, events = [], because }) => {
  const list = events.map((event) => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: {},
    involvedObject: {},
    ...event,
  }));
  const facts = { replicaSet: replicaSet("rs", 1, replicas), pods, events: list, now };
  expect(explainReplicaSet(facts).because).toMatch(because);
});

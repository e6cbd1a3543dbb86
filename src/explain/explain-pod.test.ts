import { describe, test } from "vitest";
import {
  advice,
  condition,
  expectExplained,
  type Given,
  notReady,
  running,
  sandboxed,
  scheduled,
  status,
  waiting,
} from "./explain-pod.fixture.ts";

describe("the first stage that is not complete", () => {
  test.each<Given>([
    {
      name: "an init container runs",
      initContainers: [{ name: "i" }],
      status: { conditions: sandboxed, initContainerStatuses: [status("i", { state: running })] },
      stage: "init",
      since: "00:30",
      because: /Init container i is running/,
      transient: true,
      fix: /kubectl logs p -n shop -c i/,
    },
    {
      name: "a failing init container, with the containers after it that fail or will fail",
      initContainers: [
        { name: "done" },
        { name: "i" },
        { name: "later", image: "Bad:1" },
        { name: "fine", image: "web:1" },
      ],
      containers: [
        { name: "c", image: "web:1" },
        { name: "d", image: "web:1" },
        { name: "e", image: "web:1" },
      ],
      missing: [{ kind: "secret", name: "keys", containers: ["d", "other"] }],
      status: {
        conditions: sandboxed,
        initContainerStatuses: [
          status("done", { state: { terminated: { exitCode: 0 } } }),
          status("i", {
            state: { waiting: { reason: "CreateContainerConfigError", message: 'configmap "a" not found' } },
          }),
          status("later", { state: { waiting: { reason: "PodInitializing" } } }),
          status("fine", { state: { waiting: { reason: "PodInitializing" } } }),
        ],
        containerStatuses: [
          status("c", {
            state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 10s" } },
            lastState: { terminated: { exitCode: 1, reason: "Error" } },
          }),
          status("d", { state: { waiting: { reason: "PodInitializing" } } }),
          status("e", { state: { waiting: { reason: "PodInitializing" } } }),
        ],
      },
      stage: "creating",
      because:
        /^Container i is waiting: .*configmap "a" not found\. Container later will fail too: its image "Bad:1": .*\. Container c .*\. Container d will fail too: secret "keys" not found\.$/,
      transient: false,
      fix: /kubectl create configmap a .*\n.*correct the name: .*later=IMAGE\n.*kubectl logs p -n shop -c c .*\n.*kubectl create secret generic keys /s,
    },
    {
      name: "an init container that has not started, without the containers after it",
      initContainers: [{ name: "i" }],
      containers: [{ name: "c", image: "Bad:1" }],
      status: { conditions: sandboxed, initContainerStatuses: [status("i", {})] },
      stage: "creating",
      because: /^Container i is about to be created\.$/,
      transient: true,
    },
    {
      name: "of two containers, the one with a permanent problem",
      containers: [{ name: "c" }, { name: "d" }],
      status: {
        conditions: sandboxed,
        containerStatuses: [
          waiting("ErrImagePull"),
          status("d", { state: { waiting: { reason: "ErrImageNeverPull", message: "not here" } } }),
        ],
      },
      stage: "pulling",
      because: /Container d is waiting: ErrImageNeverPull/,
      transient: false,
      fix: /IfNotPresent/,
    },
    {
      name: "of two containers, the one that has not completed",
      containers: [{ name: "c" }, { name: "d" }],
      spec: { restartPolicy: "Never" },
      status: {
        conditions: sandboxed,
        containerStatuses: [status("c", { state: { terminated: { exitCode: 0 } } }), status("d", {})],
      },
      stage: "creating",
      because: /Container d is about to be created/,
      transient: true,
    },
    {
      name: "a cluster that reports neither sandboxes nor started",
      status: {
        podIP: "10.0.0.1",
        conditions: [scheduled],
        containerStatuses: [status("c", { state: running })],
      },
      stage: "readiness",
      because: /is running but not ready/,
      transient: true,
      fix: /kubectl logs/,
    },
    {
      name: "a readiness gate",
      spec: { readinessGates: [{ conditionType: "example.com/lb" }] },
      status: {
        conditions: sandboxed,
        containerStatuses: [status("c", { state: running, started: true, ready: true })],
      },
      stage: "readiness",
      because: /example\.com\/lb is not True/,
      transient: true,
      fix: /set the condition/,
    },
    {
      name: "its node is silent",
      status: {
        conditions: [...sandboxed, condition("Ready", "False")],
        containerStatuses: [status("c", { state: running, started: true, ready: true })],
      },
      stage: "readiness",
      because: /no longer ready, although its containers were ready in the last status/,
      transient: true,
      fix: /kubectl get node n/,
    },
    {
      name: "its node does not exist",
      node: { kind: "missing" },
      status: { conditions: [scheduled] },
      stage: "sandbox",
      since: "00:10",
      because: /^The pod is bound to node n, which does not exist\.$/,
      transient: false,
      fix: /^create the pod again without spec\.nodeName/,
    },
    {
      name: "its node does not exist, and its controller creates it again",
      metadata: {
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "ReplicaSet", name: "w", uid: "u", controller: true },
        ],
      },
      node: { kind: "missing" },
      status: { conditions: [scheduled] },
      stage: "sandbox",
      because: /does not exist/,
      transient: false,
      fix: /kubectl delete pod p -n shop --force --grace-period=0$/,
    },
    {
      name: "its node stopped reporting: the status is outdated",
      node: notReady,
      status: {
        conditions: sandboxed,
        containerStatuses: [waiting("ImagePullBackOff", "Back-off pulling image")],
      },
      stage: "pulling",
      because:
        /^Node n is not ready \(NodeStatusUnknown: .*\)\. In its last known status: Container c is waiting: ImagePullBackOff/,
      transient: true,
      resolvesWhen: "when the node is ready again",
      fix: /^check the node: kubectl describe node n$/,
    },
    {
      name: "its node is not ready and its own problem is permanent",
      node: notReady,
      status: { conditions: sandboxed, containerStatuses: [waiting("InvalidImageName", "no")] },
      stage: "pulling",
      because: /^Node n is not ready .* InvalidImageName/,
      transient: false,
      fix: /^check the node: kubectl describe node n\ncorrect the name: kubectl set image/,
    },
    {
      name: "ready",
      status: {
        conditions: [...sandboxed, condition("Ready", "True")],
        containerStatuses: [status("c", { state: running, started: true, ready: true })],
      },
      stage: "ready",
      since: "00:10",
      because: /^The pod is ready\.$/,
      transient: true,
    },
    {
      name: "ready after restarts",
      status: {
        conditions: [...sandboxed, condition("Ready", "True")],
        containerStatuses: [
          status("c", {
            state: running,
            started: true,
            ready: true,
            restartCount: 2,
            lastState: { terminated: { exitCode: 1 } },
          }),
        ],
      },
      stage: "ready",
      because: /The pod is ready; container c was restarted 2 times, the last time after exit code 1\./,
      transient: true,
      fix: /--previous/,
    },
    {
      name: "ready, with a start that nearly exceeded its probe",
      containers: [{ livenessProbe: { periodSeconds: 20, failureThreshold: 4 } }],
      status: {
        conditions: [...sandboxed, condition("Ready", "True")],
        containerStatuses: [status("c", { state: running, started: true, ready: true })],
      },
      advice: [advice],
      stage: "ready",
      because: /^The pod is ready; container c took up to 60\.0 s to start; a probe kills it after 60 s\.$/,
      transient: true,
      fix: /^give container c a startupProbe/,
    },
    {
      name: "ready, well within its probe",
      containers: [{ startupProbe: { periodSeconds: 5, failureThreshold: 37 } }],
      status: {
        conditions: [...sandboxed, condition("Ready", "True")],
        containerStatuses: [status("c", { state: running, started: true, ready: true })],
      },
      advice: [advice],
      stage: "ready",
      because: /^The pod is ready\.$/,
      transient: true,
    },
  ])("$name", expectExplained);
});

describe("a pod without a sandbox", () => {
  test.each<Given>([
    {
      name: "the kubelet has not processed it",
      status: { conditions: [scheduled] },
      stage: "sandbox",
      since: "00:10",
      because: /kubelet of n has not started/,
      transient: true,
      fix: /kubectl get node n/,
    },
    {
      name: "the config map of a volume is missing",
      status: {
        conditions: [
          scheduled,
          condition("PodReadyToStartContainers", "False", {
            reason: "FailedMount",
            message: 'MountVolume.SetUp failed for volume "v" : configmap "cm" not found',
          }),
        ],
      },
      stage: "volumes",
      because: /configmap "cm" not found/,
      transient: false,
      fix: /kubectl create configmap cm -n shop/,
    },
    {
      name: "a missing secret, known from events only",
      status: { conditions: [scheduled] },
      events: [
        { reason: "FailedMount", message: 'MountVolume.SetUp failed for volume "v" : secret "s" not found' },
      ],
      stage: "volumes",
      because: /secret "s" not found/,
      transient: false,
      fix: /kubectl create secret generic s -n shop/,
    },
    {
      name: "the network plugin fails",
      status: { conditions: [scheduled, condition("PodReadyToStartContainers", "False")] },
      events: [{ reason: "FailedCreatePodSandBox", message: "Failed to create pod sandbox: no addresses" }],
      stage: "sandbox",
      because: /no addresses/,
      transient: true,
      fix: /network plugin/,
    },
    {
      name: "the runtime does not have the handler",
      status: { conditions: [scheduled, condition("PodReadyToStartContainers", "False")] },
      events: [{ reason: "FailedCreatePodSandBox", message: 'no runtime for "gvisor" is configured' }],
      stage: "sandbox",
      because: /no runtime for "gvisor"/,
      transient: false,
      fix: /spec\.runtimeClassName/,
    },
  ])("$name", expectExplained);
});

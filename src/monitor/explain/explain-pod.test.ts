import { describe, expect, test } from "vitest";
import type { Container, ContainerStatus, Event, Pod, PodCondition } from "../../api/objects.ts";
import { explainPod } from "./explain-pod.ts";
import type { PodFacts, PullFacts } from "./explanation.ts";

const now = Date.parse("2026-01-01T00:01:00Z");

interface Given {
  name: string;
  metadata?: Partial<Pod["metadata"]>;
  containers?: readonly Partial<Container>[];
  initContainers?: readonly Partial<Container>[];
  nodeName?: string;
  status?: Pod["status"];
  events?: readonly { reason: string; message: string; at?: string }[];
  pulls?: readonly PullFacts[];
  budgets?: PodFacts["budgets"];
  advice?: PodFacts["advice"];
  spec?: object;
  stage: string;
  because: RegExp;
  heals: boolean;
  healsWhen?: string;
  fix?: RegExp;
}

const condition = (type: string, status: string, more: Partial<PodCondition> = {}): PodCondition => ({
  type,
  status,
  lastTransitionTime: "2026-01-01T00:00:10Z",
  ...more,
});
const scheduled = condition("PodScheduled", "True");
const sandboxed = [scheduled, condition("PodReadyToStartContainers", "True")];
const status = (name: string, more: Partial<ContainerStatus>): ContainerStatus => ({
  name,
  image: "i",
  imageID: "",
  ready: false,
  restartCount: 0,
  ...more,
});
const waiting = (reason: string, message = "") => status("c", { state: { waiting: { reason, message } } });
const advice = {
  container: "c",
  periodSeconds: 5,
  failureThreshold: 37,
  slowestSeconds: 60,
  reason: "3 starts",
};
const running = { running: { startedAt: "2026-01-01T00:00:30Z" } };

function factsOf(given: Given): PodFacts {
  const named = (list: readonly Partial<Container>[] = []) =>
    list.map((container) => ({ name: "c", image: "web:1", ...container }));
  return {
    pod: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "p",
        namespace: "shop",
        uid: "u",
        creationTimestamp: "2026-01-01T00:00:00Z",
        ...given.metadata,
      },
      spec: {
        containers: named(given.containers ?? [{}]),
        initContainers: named(given.initContainers),
        ...(given.nodeName !== "" && { nodeName: given.nodeName ?? "n" }),
        ...given.spec,
      },
      ...(given.status && { status: given.status }),
    },
    events: (given.events ?? []).map(
      ({ at = "2026-01-01T00:00:50Z", ...event }): Event => ({
        apiVersion: "v1",
        kind: "Event",
        metadata: {},
        involvedObject: {},
        lastTimestamp: at,
        ...event,
      }),
    ),
    pulls: given.pulls ?? [],
    budgets: given.budgets ?? [],
    advice: given.advice ?? [],
    now,
  };
}

describe("why a pod does not start", () => {
  test.each<Given>([
    {
      name: "nobody has scheduled it",
      nodeName: "",
      stage: "scheduling",
      because: /No scheduler has looked at it yet; it waits for default-scheduler/,
      heals: true,
      fix: /spec\.schedulerName/,
    },
    {
      name: "no node has room",
      nodeName: "",
      status: {
        conditions: [
          condition("PodScheduled", "False", {
            reason: "Unschedulable",
            message: "0/1 nodes are available: 1 Insufficient cpu. no new claims.",
          }),
        ],
      },
      stage: "scheduling",
      because: /Insufficient cpu/,
      heals: true,
      fix: /lower resources\.requests/,
    },
    {
      name: "a gate holds it",
      nodeName: "",
      spec: { schedulingGates: [{ name: "example.com/quota" }] },
      status: { conditions: [condition("PodScheduled", "False", { reason: "SchedulingGated" })] },
      stage: "scheduling",
      because: /example\.com\/quota/,
      heals: false,
      fix: /spec\.schedulingGates/,
    },
    {
      name: "the kubelet is silent",
      status: { conditions: [scheduled] },
      stage: "sandbox",
      because: /kubelet of n has not begun/,
      heals: true,
      fix: /kubectl get node n/,
    },
    {
      name: "a config map is missing for a volume",
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
      heals: false,
      fix: /kubectl create configmap cm -n shop/,
    },
    {
      name: "the same on a cluster that has only events",
      status: { conditions: [scheduled] },
      events: [
        { reason: "FailedMount", message: 'MountVolume.SetUp failed for volume "v" : secret "s" not found' },
      ],
      stage: "volumes",
      because: /secret "s" not found/,
      heals: false,
      fix: /kubectl create secret generic s -n shop/,
    },
    {
      name: "the network plugin fails",
      status: { conditions: [scheduled, condition("PodReadyToStartContainers", "False")] },
      events: [{ reason: "FailedCreatePodSandBox", message: "Failed to create pod sandbox: no addresses" }],
      stage: "sandbox",
      because: /no addresses/,
      heals: true,
      fix: /network plugin/,
    },
    {
      name: "an image comes along",
      status: { conditions: sandboxed, containerStatuses: [waiting("ContainerCreating")] },
      pulls: [
        {
          image: "web:1",
          container: "c",
          startedAt: "2026-01-01T00:00:50Z",
          offset: 50 * 2 ** 20,
          total: 150 * 2 ** 20,
        },
      ],
      stage: "pulling",
      because: /web:1 is being pulled: 50 of 150 MiB, about 20 s left/,
      heals: true,
    },
    {
      name: "an image is pulled by another kubelet",
      status: { conditions: sandboxed, containerStatuses: [waiting("ContainerCreating")] },
      events: [{ reason: "Pulling", message: 'Pulling image "web:1"' }],
      stage: "pulling",
      because: /Pulling image "web:1"/,
      heals: true,
    },
    {
      name: "a pull of which nothing is known yet",
      pulls: [{ container: "c", image: "web:1", startedAt: "2026-01-01T00:00:50Z", offset: 0, total: 0 }],
      status: { conditions: sandboxed, containerStatuses: [waiting("ContainerCreating")] },
      stage: "pulling",
      because: /web:1 is being pulled: the registry has sent nothing yet\.$/,
      heals: true,
    },
    {
      name: "the registry is away",
      status: {
        conditions: sandboxed,
        containerStatuses: [waiting("ImagePullBackOff", "Back-off pulling image")],
      },
      stage: "pulling",
      because: /ImagePullBackOff: Back-off pulling image/,
      heals: true,
      fix: /imagePullSecrets/,
    },
    {
      name: "the registry cannot be reached",
      status: {
        conditions: sandboxed,
        containerStatuses: [waiting("ErrImagePull", "dial tcp: lookup registry.test: no such host")],
      },
      stage: "pulling",
      because: /no such host/,
      heals: true,
      fix: /see that node \S+ reaches the registry/,
    },
    {
      name: "the image's name cannot be read, in a StatefulSet's pod",
      metadata: {
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "StatefulSet", name: "db", uid: "u", controller: true },
        ],
      },
      status: { conditions: sandboxed, containerStatuses: [waiting("InvalidImageName", "no")] },
      stage: "pulling",
      because: /InvalidImageName/,
      heals: false,
      fix: /: kubectl set image statefulset\/db -n shop c=IMAGE && kubectl delete pod p -n shop$/,
    },
    {
      name: "the image's name cannot be read, in a Deployment's pod",
      metadata: {
        labels: { "pod-template-hash": "5d4f" },
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d4f", uid: "u", controller: true },
        ],
      },
      status: { conditions: sandboxed, containerStatuses: [waiting("InvalidImageName", "no")] },
      stage: "pulling",
      because: /InvalidImageName/,
      heals: false,
      fix: /: kubectl set image deployment\/web -n shop c=IMAGE$/,
    },
    {
      name: "the image's name cannot be read",
      status: { conditions: sandboxed, containerStatuses: [waiting("InvalidImageName", "no")] },
      stage: "pulling",
      because: /InvalidImageName/,
      heals: false,
      fix: /kubectl set image pod\/p -n shop c=IMAGE/,
    },
    {
      name: "a key is missing",
      status: {
        conditions: sandboxed,
        containerStatuses: [
          waiting("CreateContainerConfigError", "couldn't find key k in ConfigMap shop/cm"),
        ],
      },
      stage: "creating",
      because: /couldn't find key k/,
      heals: false,
      fix: /add the key k: kubectl edit configmap cm -n shop/,
    },
    {
      name: "it crashes",
      status: {
        conditions: sandboxed,
        containerStatuses: [
          {
            ...waiting("CrashLoopBackOff", "back-off 20s restarting failed container=c"),
            restartCount: 3,
            lastState: { terminated: { exitCode: 3, reason: "Error" } },
          },
        ],
      },
      stage: "crashing",
      because: /exit code 3, 3 restarts so far; the next start waits 20s/,
      heals: true,
      fix: /kubectl logs p -n shop -c c --previous/,
    },
    {
      name: "a probe ends it",
      status: {
        conditions: sandboxed,
        containerStatuses: [
          {
            ...waiting("CrashLoopBackOff", "back-off 10s restarting failed container=c"),
            restartCount: 1,
            lastState: { terminated: { exitCode: 137, reason: "Error" } },
          },
        ],
      },
      events: [{ reason: "Killing", message: "Container c failed liveness probe, will be restarted" }],
      stage: "crashing",
      because: /exit code 137: it failed liveness probe, 1 restart so far/,
      heals: true,
      fix: /--previous/,
    },
    {
      name: "its program is missing",
      status: {
        conditions: sandboxed,
        containerStatuses: [
          waiting(
            "CreateContainerError",
            `rpc error: code = Unknown desc = creating container ${"ab".repeat(32)}: exec: "nothing": executable file not found in $PATH`,
          ),
        ],
      },
      stage: "creating",
      because: /CreateContainerError: creating container abababababab: exec: "nothing": executable/,
      heals: true,
      fix: /the image has no nothing: correct command/,
    },
    {
      name: "its claim is missing",
      nodeName: "",
      status: {
        conditions: [
          condition("PodScheduled", "False", {
            reason: "Unschedulable",
            message: '0/1 nodes are available: persistentvolumeclaim "data" not found. not found',
          }),
        ],
      },
      stage: "scheduling",
      because: /mounts the claim "data", which does not exist/,
      heals: false,
      fix: /kubectl get pvc -n shop/,
    },
    {
      name: "its time is over",
      spec: { activeDeadlineSeconds: 30 },
      status: {
        startTime: "2026-01-01T00:00:20Z",
        conditions: sandboxed,
        containerStatuses: [status("c", { state: running, started: true, ready: true })],
      },
      stage: "terminating",
      because: /given 30 s by activeDeadlineSeconds/,
      heals: false,
      fix: /spec\.activeDeadlineSeconds/,
    },
    {
      name: "its time was over",
      status: {
        phase: "Failed",
        reason: "DeadlineExceeded",
        message: "Pod was active on the node longer than the specified deadline",
        containerStatuses: [status("c", { state: { terminated: { exitCode: 137 } } })],
      },
      stage: "ended",
      because: /DeadlineExceeded\): Pod was active on the node longer/,
      heals: false,
      fix: /spec\.activeDeadlineSeconds/,
    },
    {
      name: "ready between two deaths",
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
      because: /It is ready; container c was restarted 2 times, the last time after exit code 1\./,
      heals: true,
      fix: /--previous/,
    },
    {
      name: "a cluster that tells neither the sandbox nor what has started",
      status: {
        podIP: "10.0.0.1",
        conditions: [scheduled],
        containerStatuses: [status("c", { state: running })],
      },
      stage: "readiness",
      because: /has started and is not ready/,
      heals: true,
      fix: /kubectl logs/,
    },
    {
      name: "of two containers, the one that cannot heal",
      containers: [{ name: "c" }, { name: "d" }],
      status: {
        conditions: sandboxed,
        containerStatuses: [
          waiting("ErrImagePull"),
          status("d", { state: { waiting: { reason: "ErrImageNeverPull", message: "not here" } } }),
        ],
      },
      stage: "pulling",
      because: /Container d waits: ErrImageNeverPull/,
      heals: false,
      fix: /IfNotPresent/,
    },
    {
      name: "it ended, and will be started again",
      status: {
        conditions: sandboxed,
        containerStatuses: [status("c", { state: { terminated: { exitCode: 3 } } })],
      },
      stage: "crashing",
      because: /ended with exit code 3 and is about to be started again/,
      heals: true,
      fix: /kubectl logs p -n shop -c c --previous/,
    },
    {
      name: "it failed beside others, and is not started again",
      containers: [{ name: "c" }, { name: "d" }],
      spec: { restartPolicy: "Never" },
      status: {
        conditions: sandboxed,
        containerStatuses: [
          status("c", { state: { terminated: { exitCode: 3 } } }),
          status("d", { state: running, started: true, ready: true }),
        ],
      },
      stage: "crashing",
      because: /ended with exit code 3 and is not started again, by its restartPolicy/,
      heals: false,
      fix: /kubectl logs p -n shop -c c$/,
    },
    {
      name: "it has done its work beside others",
      containers: [{ name: "c" }, { name: "d" }],
      spec: { restartPolicy: "OnFailure" },
      status: {
        conditions: sandboxed,
        containerStatuses: [
          status("c", { state: { terminated: { exitCode: 0 } } }),
          status("d", { state: running, started: true, ready: true }),
        ],
      },
      stage: "readiness",
      because: /ended with exit code 0 and is not started again/,
      heals: true,
    },
    {
      name: "one has done its work, and the other is on its way",
      containers: [{ name: "c" }, { name: "d" }],
      spec: { restartPolicy: "Never" },
      status: {
        conditions: sandboxed,
        containerStatuses: [status("c", { state: { terminated: { exitCode: 0 } } }), status("d", {})],
      },
      stage: "creating",
      because: /Container d is about to be made/,
      heals: true,
    },
    {
      name: "its node has fallen silent",
      status: {
        conditions: [...sandboxed, condition("Ready", "False")],
        containerStatuses: [status("c", { state: running, started: true, ready: true })],
      },
      stage: "readiness",
      because: /not ready any more, though its containers were when its kubelet last told of them/,
      heals: true,
      fix: /kubectl get node n/,
    },
    {
      name: "an init container runs",
      initContainers: [{ name: "i" }],
      status: { conditions: sandboxed, initContainerStatuses: [status("i", { state: running })] },
      stage: "init",
      because: /Init container i runs/,
      heals: true,
      fix: /kubectl logs p -n shop -c i/,
    },
    {
      name: "a startup probe goes on",
      containers: [{ startupProbe: { periodSeconds: 10, failureThreshold: 30 } }],
      status: { conditions: sandboxed, containerStatuses: [status("c", { state: running, started: false })] },
      events: [{ reason: "Unhealthy", message: "Startup probe failed: HTTP 503" }],
      stage: "starting",
      because: /has not succeeded yet: 1 of 30 failures, at most 280 s left; Startup probe failed: HTTP 503/,
      heals: true,
      fix: /raise startupProbe\.failureThreshold; its log: kubectl logs/,
    },
    {
      name: "a startup probe goes on, and the kubelet tells how many have failed",
      containers: [{ startupProbe: { periodSeconds: 10, failureThreshold: 30 } }],
      status: {
        conditions: sandboxed,
        containerStatuses: [status("c", { state: running, started: false, restartCount: 1 })],
      },
      events: [{ reason: "Unhealthy", message: "Startup probe failed: HTTP 503" }],
      budgets: [{ container: "c", failures: 3, secondsLeft: 270 }],
      advice: [advice],
      stage: "starting",
      because: /yet: 3 of 30 failures, at most 270 s left, after 1 restart; Startup probe failed: HTTP 503/,
      heals: true,
      fix: /if it needs longer, give container c a startupProbe with periodSeconds: 5 and failureThreshold: 37 \(3 starts\)/,
    },
    {
      name: "a startup probe goes on in a pod that is not restarted",
      spec: { restartPolicy: "Never" },
      containers: [{ startupProbe: {} }],
      status: { conditions: sandboxed, containerStatuses: [status("c", { state: running, started: false })] },
      stage: "starting",
      because: /0 of 3 failures, at most 20 s left\.$/,
      heals: true,
      healsWhen: "when the probe succeeds; else the container is ended in 20 s at the latest",
      fix: /kubectl logs/,
    },
    {
      name: "killed by its startup probe again and again",
      containers: [{ startupProbe: {} }],
      status: {
        conditions: sandboxed,
        containerStatuses: [{ ...waiting("CrashLoopBackOff"), restartCount: 2 }],
      },
      events: [{ reason: "Killing", message: "Container c failed startup probe, will be restarted" }],
      advice: [advice],
      stage: "crashing",
      because: /failed startup probe, 2 restarts so far/,
      heals: true,
      fix: /^give container c a startupProbe .*; read what it said before it ended: kubectl logs/,
    },
    {
      name: "ready, and was nearly killed on the way",
      containers: [{ livenessProbe: { periodSeconds: 20, failureThreshold: 4 } }],
      status: {
        conditions: [...sandboxed, condition("Ready", "True")],
        containerStatuses: [status("c", { state: running, started: true, ready: true })],
      },
      advice: [advice],
      stage: "ready",
      because:
        /^It is ready; container c has taken up to 60\.0 s to start, and after 60 s a probe would have ended it\.$/,
      heals: true,
      fix: /^give container c a startupProbe/,
    },
    {
      name: "ready, with time to spare",
      containers: [{ startupProbe: { periodSeconds: 5, failureThreshold: 37 } }],
      status: {
        conditions: [...sandboxed, condition("Ready", "True")],
        containerStatuses: [status("c", { state: running, started: true, ready: true })],
      },
      advice: [advice],
      stage: "ready",
      because: /^It is ready\.$/,
      heals: true,
    },
    {
      name: "not ready",
      status: { conditions: sandboxed, containerStatuses: [status("c", { state: running, started: true })] },
      events: [{ reason: "Unhealthy", message: "Readiness probe failed: no" }],
      stage: "readiness",
      because: /has started and is not ready: Readiness probe failed: no/,
      heals: true,
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
      heals: true,
      fix: /sets the condition/,
    },
    {
      name: "ready",
      status: {
        conditions: [...sandboxed, condition("Ready", "True")],
        containerStatuses: [status("c", { state: running, started: true, ready: true })],
      },
      stage: "ready",
      because: /ready/,
      heals: true,
    },
    {
      name: "failed",
      status: {
        phase: "Failed",
        containerStatuses: [status("c", { state: { terminated: { exitCode: 7 } } })],
      },
      stage: "ended",
      because: /It failed: container c ended with exit code 7/,
      heals: false,
      fix: /kubectl logs p -n shop -c c/,
    },
    {
      name: "on its way out",
      metadata: { deletionTimestamp: "2026-01-01T00:00:55Z", finalizers: ["example.com/f"] },
      stage: "terminating",
      because: /finalizers hold it: example\.com\/f/,
      heals: true,
    },
  ])("$name", (given) => {
    const explanation = explainPod(factsOf(given));
    expect(explanation.stage).toBe(given.stage);
    expect(explanation.because).toMatch(given.because);
    expect(explanation.healsByItself).toBe(given.heals);
    if (given.healsWhen) expect(explanation.healsWhen).toBe(given.healsWhen);
    if (given.fix) expect(explanation.fix).toMatch(given.fix);
    else expect(explanation.fix).toBeUndefined();
  });
});

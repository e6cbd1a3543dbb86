import { describe, test } from "vitest";
import {
  advice,
  condition,
  expectExplained,
  type Given,
  running,
  sandboxed,
  scheduled,
  status,
  waiting,
} from "./explain-pod.fixture.ts";

describe("the first thing on the way to Ready that is not done", () => {
  test.each<Given>([
    {
      name: "an init container runs",
      initContainers: [{ name: "i" }],
      status: { conditions: sandboxed, initContainerStatuses: [status("i", { state: running })] },
      stage: "init",
      since: "00:30",
      because: /Init container i runs/,
      heals: true,
      fix: /kubectl logs p -n shop -c i/,
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
      name: "ready",
      status: {
        conditions: [...sandboxed, condition("Ready", "True")],
        containerStatuses: [status("c", { state: running, started: true, ready: true })],
      },
      stage: "ready",
      since: "00:10",
      because: /^It is ready\.$/,
      heals: true,
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
  ])("$name", expectExplained);
});

import { describe, test } from "vitest";
import { advice, expectExplained, type Given, running, sandboxed, status } from "./explain-pod.fixture.ts";

describe("a container that has run", () => {
  test.each<Given>([
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
      name: "a startup probe goes on",
      containers: [{ startupProbe: { periodSeconds: 10, failureThreshold: 30 } }],
      status: { conditions: sandboxed, containerStatuses: [status("c", { state: running, started: false })] },
      events: [{ reason: "Unhealthy", message: "Startup probe failed: HTTP 503" }],
      stage: "starting",
      since: "00:30",
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
      name: "not ready",
      status: { conditions: sandboxed, containerStatuses: [status("c", { state: running, started: true })] },
      events: [{ reason: "Unhealthy", message: "Readiness probe failed: no" }],
      stage: "readiness",
      since: "00:30",
      because: /has started and is not ready: Readiness probe failed: no/,
      heals: true,
      fix: /kubectl logs/,
    },
  ])("$name", expectExplained);
});

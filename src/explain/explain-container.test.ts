import { describe, test } from "vitest";
import { advice, expectExplained, type Given, running, sandboxed, status } from "./explain-pod.fixture.ts";

describe("a container that was started", () => {
  test.each<Given>([
    {
      name: "it exited and will be restarted",
      status: {
        conditions: sandboxed,
        containerStatuses: [status("c", { state: { terminated: { exitCode: 3 } } })],
      },
      stage: "crashing",
      because: /exited with code 3 and is about to be restarted/,
      transient: true,
      fix: /kubectl logs p -n shop -c c --previous/,
    },
    {
      name: "it exited because of its memory limit: the cause and the log are shown before the back-off",
      containers: [{ resources: { limits: { memory: "16Mi" } } }],
      status: {
        conditions: sandboxed,
        containerStatuses: [
          status("c", {
            state: {
              terminated: {
                exitCode: 137,
                reason: "OOMKilled",
                startedAt: "2026-01-01T00:00:40Z",
                finishedAt: "2026-01-01T00:00:41Z",
              },
            },
          }),
        ],
      },
      logs: [{ container: "c", lines: ["loading", "allocating"] }],
      stage: "crashing",
      since: "00:41",
      because:
        /exited with code 137 \(OOMKilled\) and is about to be restarted\. The container used more memory than its limit of 16Mi\.$/,
      transient: false,
      fix: /^raise resources\.limits\.memory of container c above 16Mi$/,
      shows: ["loading", "allocating"],
    },
    {
      name: "its postStart hook failed and it is being stopped: it does not wait for a readiness probe",
      containers: [{ name: "c" }, { name: "d" }],
      status: {
        conditions: sandboxed,
        containerStatuses: [
          status("c", { state: running, started: true }),
          status("d", { state: { waiting: { reason: "ErrImagePull", message: "no" } } }),
        ],
      },
      events: [{ reason: "FailedPostStartHook", message: "PostStartHook failed" }],
      stage: "crashing",
      since: "00:30",
      because:
        /^Container c is running and is about to be stopped: PostStartHook failed\. The postStart hook failed, so .* Container d is waiting/,
      transient: true,
      fix: /^correct lifecycle.postStart of container c\n/,
    },
    {
      name: "the postStart hook of an earlier run failed, and it is not ready without a readiness probe",
      status: {
        conditions: sandboxed,
        containerStatuses: [
          status("c", { state: { running: { startedAt: "2026-01-01T00:00:55Z" } }, started: true }),
        ],
      },
      events: [{ reason: "FailedPostStartHook", message: "PostStartHook failed" }],
      stage: "readiness",
      because: /^Container c is running but not ready\.$/,
      transient: true,
      resolvesWhen: "when its kubelet reports that it is ready",
      fix: /its log/,
    },
    {
      name: "its program is missing, and nothing is left to be restarted",
      spec: { restartPolicy: "Never" },
      status: {
        conditions: sandboxed,
        containerStatuses: [
          status("c", {
            state: {
              terminated: {
                exitCode: 128,
                reason: "StartError",
                message: 'exec: "serve": executable file not found in $PATH',
              },
            },
          }),
          status("d", { state: running, started: true, ready: true }),
        ],
      },
      stage: "crashing",
      because:
        /^Container c exited with code 128 \(StartError\) and is not restarted .*: exec: "serve": .* The image does not contain the program serve\.$/,
      transient: false,
      fix: /the image has no serve/,
    },
    {
      name: "its postStart hook failed",
      status: {
        conditions: sandboxed,
        containerStatuses: [status("c", { state: { terminated: { exitCode: 137, reason: "Error" } } })],
      },
      events: [{ reason: "FailedPostStartHook", message: "PostStartHook failed" }],
      stage: "crashing",
      because: /about to be restarted\. The postStart hook failed, so the kubelet kills the container\.$/,
      transient: true,
      fix: /lifecycle\.postStart/,
    },
    {
      name: "the termination message repeats its log, which is not shown twice",
      status: {
        conditions: sandboxed,
        containerStatuses: [
          status("c", { state: { terminated: { exitCode: 1, message: "panic: no database" } } }),
        ],
      },
      logs: [{ container: "c", lines: ["panic: no database"] }],
      stage: "crashing",
      because: /about to be restarted: panic: no database\.$/,
      transient: true,
      fix: /kubectl logs/,
    },
    {
      name: "it failed and is not restarted while others run",
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
      because: /exited with code 3 and is not restarted because of its restartPolicy/,
      transient: false,
      fix: /kubectl logs p -n shop -c c$/,
    },
    {
      name: "it completed while others run",
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
      because: /exited with code 0 and is not restarted/,
      transient: true,
    },
    {
      name: "its startup probe has not succeeded",
      containers: [{ startupProbe: { periodSeconds: 10, failureThreshold: 30 } }],
      status: { conditions: sandboxed, containerStatuses: [status("c", { state: running, started: false })] },
      events: [{ reason: "Unhealthy", message: "Startup probe failed: HTTP 503" }],
      stage: "starting",
      since: "00:30",
      because: /has not succeeded yet: 1 of 30 failures, at most 280 s left; Startup probe failed: HTTP 503/,
      transient: true,
      fix: /raise startupProbe\.failureThreshold\nits log: kubectl logs/,
    },
    {
      name: "its startup probe has not succeeded, with the failures that the kubelet reports",
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
      transient: true,
      fix: /if it needs longer, give container c a startupProbe with periodSeconds: 5 and failureThreshold: 37 \(3 starts\)/,
    },
    {
      name: "its startup probe has not succeeded and it is not restarted",
      spec: { restartPolicy: "Never" },
      containers: [{ startupProbe: {} }],
      status: { conditions: sandboxed, containerStatuses: [status("c", { state: running, started: false })] },
      stage: "starting",
      because: /0 of 3 failures, at most 20 s left\.$/,
      transient: true,
      resolvesWhen: "when the probe succeeds; otherwise the container is stopped in 20 s at the latest",
      fix: /kubectl logs/,
    },
    {
      name: "not ready",
      status: { conditions: sandboxed, containerStatuses: [status("c", { state: running, started: true })] },
      events: [{ reason: "Unhealthy", message: "Readiness probe failed: no" }],
      stage: "readiness",
      since: "00:30",
      because: /is running but not ready: Readiness probe failed: no/,
      transient: true,
      fix: /kubectl logs/,
    },
  ])("$name", expectExplained);
});

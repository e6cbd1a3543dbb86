import { describe, test } from "vitest";
import { expectExplained, type Given, running, sandboxed, status } from "./explain-pod.fixture.ts";

describe("a pod that ends", () => {
  test.each<Given>([
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
      name: "done",
      status: {
        phase: "Succeeded",
        containerStatuses: [status("c", { state: { terminated: { exitCode: 0 } } })],
      },
      stage: "ended",
      because: /^All of its containers have done their work\.$/,
      heals: true,
    },
    {
      name: "failed",
      status: {
        phase: "Failed",
        containerStatuses: [
          status("c", { state: { terminated: { exitCode: 7, finishedAt: "2026-01-01T00:00:40Z" } } }),
          status("d", { state: { terminated: { exitCode: 0, finishedAt: "2026-01-01T00:00:45Z" } } }),
        ],
      },
      stage: "ended",
      since: "00:45",
      because: /It failed: container c ended with exit code 7/,
      heals: false,
      fix: /kubectl logs p -n shop -c c/,
    },
    {
      name: "on its way out",
      metadata: { deletionTimestamp: "2026-01-01T00:00:55Z", finalizers: ["example.com/f"] },
      stage: "terminating",
      since: "00:55",
      because: /finalizers hold it: example\.com\/f/,
      heals: true,
      healsWhen: "when whoever set the finalizers removes them",
    },
    {
      name: "on its way out for longer than it should be",
      metadata: { deletionTimestamp: "2025-12-31T23:59:59Z" },
      stage: "terminating",
      because: /^It is being deleted\.$/,
      heals: false,
      fix: /kubectl delete pod p -n shop --force --grace-period=0$/,
    },
    {
      name: "held by finalizers for longer than it should be, which force does not change",
      metadata: { deletionTimestamp: "2025-12-31T23:59:59Z", finalizers: ["example.com/f"] },
      stage: "terminating",
      because: /finalizers hold it: example\.com\/f/,
      heals: false,
      fix: /kubectl patch pod p -n shop --type=merge -p '\{"metadata":\{"finalizers":null\}\}'$/,
    },
  ])("$name", expectExplained);
});

import { describe, test } from "vitest";
import { expectExplained, type Given, notReady, running, sandboxed, status } from "./explain-pod.fixture.ts";

describe("a pod that terminates", () => {
  test.each<Given>([
    {
      name: "the deadline is exceeded",
      spec: { activeDeadlineSeconds: 30 },
      status: {
        startTime: "2026-01-01T00:00:20Z",
        conditions: sandboxed,
        containerStatuses: [status("c", { state: running, started: true, ready: true })],
      },
      stage: "terminating",
      because: /exceeded activeDeadlineSeconds \(30 s\)/,
      transient: false,
      fix: /spec\.activeDeadlineSeconds/,
    },
    {
      name: "it failed because of its deadline",
      status: {
        phase: "Failed",
        reason: "DeadlineExceeded",
        message: "Pod was active on the node longer than the specified deadline",
        containerStatuses: [status("c", { state: { terminated: { exitCode: 137 } } })],
      },
      stage: "ended",
      because: /DeadlineExceeded\): Pod was active on the node longer/,
      transient: false,
      fix: /spec\.activeDeadlineSeconds/,
    },
    {
      name: "completed",
      status: {
        phase: "Succeeded",
        containerStatuses: [status("c", { state: { terminated: { exitCode: 0 } } })],
      },
      stage: "ended",
      because: /^All containers have completed\.$/,
      transient: true,
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
      because: /The pod failed: container c exited with code 7/,
      transient: false,
      fix: /kubectl logs p -n shop -c c/,
    },
    {
      name: "terminating with finalizers",
      metadata: { deletionTimestamp: "2026-01-01T00:00:55Z", finalizers: ["example.com/f"] },
      stage: "terminating",
      since: "00:55",
      because: /finalizers block the deletion: example\.com\/f/,
      transient: true,
      resolvesWhen: "when the controller that added it removes it",
    },
    {
      name: "within its grace period: the time counts from the request to delete it",
      metadata: { deletionTimestamp: "2026-01-01T00:01:20Z", deletionGracePeriodSeconds: 30 },
      stage: "terminating",
      since: "00:50",
      because: /^The pod is being deleted\.$/,
      transient: true,
      resolvesWhen: "when the kubelet has stopped it",
    },
    {
      name: "its node is not ready",
      metadata: { deletionTimestamp: "2026-01-01T00:00:55Z" },
      node: notReady,
      stage: "terminating",
      because:
        /; node n is not ready \(NodeStatusUnknown: Kubelet stopped posting node status\), so no kubelet confirms/,
      transient: true,
      fix: /^check the node: kubectl describe node n\nif its node is lost permanently: kubectl delete pod p .*--force/,
    },
    {
      name: "its node does not exist and a finalizer of a known controller is left",
      metadata: {
        deletionTimestamp: "2025-12-31T23:59:59Z",
        finalizers: ["batch.kubernetes.io/job-tracking"],
      },
      node: { kind: "missing" },
      stage: "terminating",
      because: /finalizers block the deletion: batch\S+job-tracking; node n does not exist/,
      transient: false,
      fix: /^batch\.kubernetes\.io\/job-tracking is removed by the Job controller; if that does not run any more: kubectl patch/,
    },
    {
      name: "terminating for too long",
      metadata: { deletionTimestamp: "2025-12-31T23:59:59Z" },
      stage: "terminating",
      because: /^The pod is being deleted\.$/,
      transient: false,
      fix: /kubectl delete pod p -n shop --force --grace-period=0$/,
    },
    {
      name: "blocked by finalizers for too long, which a forced deletion does not change",
      metadata: { deletionTimestamp: "2025-12-31T23:59:59Z", finalizers: ["example.com/f"] },
      stage: "terminating",
      because: /finalizers block the deletion: example\.com\/f/,
      transient: false,
      fix: /example\.com\/f is removed by the controller that added it; .*: kubectl patch pod p -n shop --type=json -p '\[\{"op":"test","path":"\/metadata\/finalizers\/0","value":"example\.com\/f"\},\{"op":"remove",/,
    },
  ])("$name", expectExplained);
});

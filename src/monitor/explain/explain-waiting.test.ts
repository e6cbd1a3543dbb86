import { describe, test } from "vitest";
import { advice, expectExplained, type Given, sandboxed, waiting } from "./explain-pod.fixture.ts";

describe("a container that is kept from running", () => {
  test.each<Given>([
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
      events: [{ reason: "Failed", message: "Failed to pull image" }],
      stage: "pulling",
      since: "00:50",
      because: /no such host/,
      heals: true,
      fix: /see that node \S+ reaches the registry/,
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
  ])("$name", expectExplained);
});

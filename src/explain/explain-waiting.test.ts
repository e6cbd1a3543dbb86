import { describe, test } from "vitest";
import {
  advice,
  expectExplained,
  type Given,
  sandboxed,
  waiting,
  withRuntime,
} from "./explain-pod.fixture.ts";

describe("a container that cannot be started", () => {
  test.each<Given>([
    {
      name: "the pull failed",
      status: {
        conditions: sandboxed,
        containerStatuses: [waiting("ImagePullBackOff", "Back-off pulling image")],
      },
      stage: "pulling",
      because: /ImagePullBackOff: Back-off pulling image/,
      transient: true,
      fix: /imagePullSecrets/,
    },
    {
      name: "the pull fails and an image pull secret is missing",
      status: {
        conditions: sandboxed,
        containerStatuses: [waiting("ErrImagePull", "pull access denied, repository does not exist")],
      },
      events: [
        {
          reason: "FailedToRetrieveImagePullSecret",
          message:
            "Unable to retrieve some image pull secrets (regcred); attempting to pull the image may not succeed.",
        },
      ],
      stage: "pulling",
      because: /denies access to the image\. The kubelet cannot read the image pull secret regcred\.$/,
      transient: true,
      fix: /^create the image pull secret: kubectl create secret docker-registry regcred -n shop .*\ncheck spec\.imagePullSecrets/,
    },
    {
      name: "the pull stalls: how much had arrived",
      status: {
        conditions: sandboxed,
        containerStatuses: [
          waiting(
            "ErrImagePull",
            "pulling web:1: no progress, the registry sent nothing for 10 s after 3.0 MiB of 50.0 MiB of layer 0123456789ab; check that it is up and reachable",
          ),
        ],
      },
      stage: "pulling",
      because: /after 3\.0 MiB of 50\.0 MiB of layer 0123456789ab; .* The registry stopped sending data\.$/,
      transient: true,
      fix: /^check the registry and the network between it and node n; the pull is retried$/,
    },
    {
      name: "the pull stalls in a runtime that does not report progress",
      status: {
        conditions: sandboxed,
        containerStatuses: [
          waiting("ErrImagePull", 'failed to pull and unpack image "web:1": context canceled'),
        ],
      },
      stage: "pulling",
      because: /The registry stopped sending data; how much had arrived is not known\.$/,
      transient: true,
      fix: /^check the registry and the network/,
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
      transient: true,
      fix: /check that node \S+ reaches the registry/,
    },
    {
      name: "the image name is invalid",
      status: { conditions: sandboxed, containerStatuses: [waiting("InvalidImageName", "no")] },
      stage: "pulling",
      because: /InvalidImageName/,
      transient: false,
      fix: /kubectl set image pod\/p -n shop c=IMAGE/,
    },
    {
      name: "the image name is invalid in a pod of a StatefulSet",
      metadata: {
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "StatefulSet", name: "db", uid: "u", controller: true },
        ],
      },
      status: { conditions: sandboxed, containerStatuses: [waiting("InvalidImageName", "no")] },
      stage: "pulling",
      because: /InvalidImageName/,
      transient: false,
      fix: /: kubectl set image statefulset\/db -n shop c=IMAGE && kubectl delete pod p -n shop$/,
    },
    {
      name: "the image name is invalid in a pod of a Deployment",
      metadata: {
        labels: { "pod-template-hash": "5d4f" },
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d4f", uid: "u", controller: true },
        ],
      },
      status: { conditions: sandboxed, containerStatuses: [waiting("InvalidImageName", "no")] },
      stage: "pulling",
      because: /InvalidImageName/,
      transient: false,
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
      transient: false,
      fix: /add the key k: kubectl edit configmap cm -n shop/,
    },
    {
      name: "the executable is missing",
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
      transient: false,
      fix: /the image has no nothing: correct the command/,
    },
    {
      name: "it crashes repeatedly",
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
      because: /code 3, 3 restarts so far; the next start is delayed by 20s/,
      transient: true,
      fix: /kubectl logs p -n shop -c c --previous/,
    },
    {
      name: "the next start is due in less than the back-off",
      status: {
        conditions: sandboxed,
        containerStatuses: [
          {
            ...waiting("CrashLoopBackOff", "back-off 20s restarting failed container=c"),
            restartCount: 3,
            lastState: { terminated: { exitCode: 3, reason: "Error", finishedAt: "2026-01-01T00:00:45Z" } },
          },
        ],
      },
      stage: "crashing",
      since: "00:45",
      because: /; the next start is in 5 s\.$/,
      transient: true,
      fix: /--previous/,
    },
    {
      name: "it is killed at start for its memory",
      containers: [{ resources: { limits: { memory: "16Mi" } } }],
      status: {
        conditions: sandboxed,
        containerStatuses: [
          {
            ...waiting("CrashLoopBackOff"),
            lastState: {
              terminated: {
                exitCode: 137,
                reason: "OOMKilled",
                startedAt: "2026-01-01T00:00:40Z",
                finishedAt: "2026-01-01T00:00:41Z",
              },
            },
          },
        ],
      },
      stage: "crashing",
      because: /code 137 \(OOMKilled\).* The container used more memory than its limit of 16Mi\.$/,
      transient: false,
      fix: /^raise resources.limits.memory of container c above 16Mi$/,
    },
    {
      name: "its postStart hook fails",
      status: {
        conditions: sandboxed,
        containerStatuses: [
          { ...waiting("CrashLoopBackOff"), lastState: { terminated: { exitCode: 137, reason: "Error" } } },
        ],
      },
      events: [{ reason: "FailedPostStartHook", message: "PostStartHook failed" }],
      stage: "crashing",
      because: /The postStart hook failed, so the kubelet kills the container\.$/,
      transient: true,
      fix: /^correct lifecycle.postStart of container c$/,
    },
    {
      name: "the message says what its cause means: once",
      status: {
        conditions: sandboxed,
        containerStatuses: [
          waiting("CreateContainerError", "neither the container nor its image specifies a command"),
        ],
      },
      stage: "creating",
      because:
        /^Container c is waiting: CreateContainerError: neither the container nor its image specifies a command\.$/,
      transient: false,
      fix: /^give container c a command/,
    },
    {
      name: "two containers fail: both are named",
      containers: [{ name: "c" }, { name: "d" }],
      status: {
        conditions: sandboxed,
        containerStatuses: [
          waiting("CrashLoopBackOff", "back-off 20s"),
          { ...waiting("CreateContainerConfigError", 'configmap "cm" not found'), name: "d" },
        ],
      },
      stage: "creating",
      because: /Container d is waiting: .*configmap "cm" not found\. Container c exited/,
      transient: false,
      fix: /^create it: kubectl create configmap cm .*\nread the log of its last run/,
    },
    {
      name: "the registry does not have the image after three attempts",
      status: {
        conditions: sandboxed,
        containerStatuses: [waiting("ImagePullBackOff", 'Back-off pulling image "web:1"')],
      },
      events: [
        {
          reason: "Failed",
          message: 'Failed to pull image "web:1": reading manifest 1: manifest unknown',
          count: 3,
        },
      ],
      stage: "pulling",
      because: /The registry does not have the image\.$/,
      transient: false,
      fix: /push the image/,
    },
    {
      name: "a probe kills it",
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
      because: /code 137: it failed liveness probe, 1 restart so far/,
      transient: true,
      fix: /--previous/,
    },
    {
      name: "its startup probe kills it repeatedly",
      containers: [{ startupProbe: {} }],
      status: {
        conditions: sandboxed,
        containerStatuses: [{ ...waiting("CrashLoopBackOff"), restartCount: 2 }],
      },
      events: [{ reason: "Killing", message: "Container c failed startup probe, will be restarted" }],
      advice: [advice],
      stage: "crashing",
      because: /failed startup probe, 2 restarts so far/,
      transient: true,
      fix: /^give container c a startupProbe .*\nread the log of its last run: kubectl logs/,
    },
  ])("$name", expectExplained);
});

describe("an image that is being pulled", () => {
  test.each<Given>([
    {
      name: "a pull with progress",
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
      since: "00:50",
      because: /web:1 is being pulled: 50 of 150 MiB, about 20 s left/,
      transient: true,
    },
    {
      name: "a pull of another kubelet, known from events",
      status: { conditions: sandboxed, containerStatuses: [waiting("ContainerCreating")] },
      events: [{ reason: "Pulling", message: 'Pulling image "web:1"' }],
      stage: "pulling",
      since: "00:50",
      because:
        /Pulling image "web:1"\. Its progress is not known: only Kindling's kubelet and node agent report it\.$/,
      transient: true,
    },
    {
      name: "3542-14 a pull for which no data arrives, known from the events of a node agent",
      status: { conditions: sandboxed, containerStatuses: [waiting("ContainerCreating")] },
      events: [
        {
          reason: "PullStalled",
          message:
            "pulling web:1: no progress, the registry r.example.com sent nothing for 60 s after 3.0 MiB of 50.0 MiB of layer 0123456789ab; check that it is up and reachable",
        },
        { reason: "Pulling", message: 'Pulling image "web:1"' },
      ],
      stage: "pulling",
      because:
        /the registry r\.example\.com sent nothing for 60 s after 3\.0 MiB of 50\.0 MiB of layer 0123456789ab\.$/,
      transient: true,
      fix: /check the registry and the network between it and node/,
    },
    {
      name: "3542-14 a pull that is one of two tags",
      status: { conditions: sandboxed, containerStatuses: [waiting("ContainerCreating")] },
      pulls: [
        {
          image: "web:1",
          container: "c",
          startedAt: "2026-01-01T00:00:50Z",
          offset: 50 * 2 ** 20,
          total: 150 * 2 ** 20,
          oneOf: ["web:1", "web:2"],
        },
      ],
      stage: "pulling",
      because: /One of the images web:1 and web:2 is being pulled: 50 of 150 MiB/,
      transient: true,
    },
    ...(
      [
        [150 * 2 ** 20, /web:1 is being pulled: 0\.0 of 150 MiB; it waits for other pulls of node n\./],
        [0, /web:1 is being pulled: its size is not known yet; it waits for other pulls of node n\./],
      ] as const
    ).map(
      ([total, because]): Given => ({
        name: `3542-14 a queued pull of ${total} bytes`,
        status: { conditions: sandboxed, containerStatuses: [waiting("ContainerCreating")] },
        pulls: [
          {
            image: "web:1",
            container: "c",
            startedAt: "2026-01-01T00:00:50Z",
            offset: 0,
            total,
            queued: true,
          },
        ],
        stage: "pulling",
        because,
        transient: true,
      }),
    ),
    {
      name: "a pull whose largest layer is left: how much of it has arrived",
      status: { conditions: sandboxed, containerStatuses: [waiting("ContainerCreating")] },
      pulls: [
        {
          image: "web:1",
          container: "c",
          startedAt: "2026-01-01T00:00:50Z",
          offset: 60 * 2 ** 20,
          total: 150 * 2 ** 20,
          layers: [
            { layer: "sha256:aa", offset: 10 * 2 ** 20, total: 10 * 2 ** 20, stage: "done" },
            {
              layer: `sha256:${"0123456789ab".padEnd(64, "0")}`,
              offset: 50 * 2 ** 20,
              total: 140 * 2 ** 20,
              stage: "downloading",
            },
          ],
        },
      ],
      stage: "pulling",
      because: /60 of 150 MiB, about 15 s left; 50\.0 MiB of 140 MiB of layer 0123456789ab\.$/,
      transient: true,
    },
    {
      name: "a pull by a runtime that reports no progress",
      pulls: [{ container: "c", image: "web:1", startedAt: "2026-01-01T00:00:50Z", offset: 0, total: 0 }],
      node: withRuntime("containerd://2.1.0"),
      status: { conditions: sandboxed, containerStatuses: [waiting("ContainerCreating")] },
      stage: "pulling",
      because:
        /being pulled: its progress is not known, because the runtime containerd:\/\/2\.1\.0 has not reported any\.$/,
      transient: true,
    },
    {
      name: "a pull without data",
      node: withRuntime("kindling://0.1.0"),
      pulls: [{ container: "c", image: "web:1", startedAt: "2026-01-01T00:00:50Z", offset: 0, total: 0 }],
      status: { conditions: sandboxed, containerStatuses: [waiting("ContainerCreating")] },
      stage: "pulling",
      because: /web:1 is being pulled: the registry has not sent any data yet\.$/,
      transient: true,
    },
  ])("$name", expectExplained);
});

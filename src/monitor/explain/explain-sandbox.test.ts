import { describe, test } from "vitest";
import { condition, expectExplained, type Given, scheduled } from "./explain-pod.fixture.ts";

describe("a pod without a sandbox", () => {
  test.each<Given>([
    {
      name: "the kubelet is silent",
      status: { conditions: [scheduled] },
      stage: "sandbox",
      since: "00:10",
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
      name: "the runtime has no such handler",
      status: { conditions: [scheduled, condition("PodReadyToStartContainers", "False")] },
      events: [{ reason: "FailedCreatePodSandBox", message: 'no runtime for "gvisor" is configured' }],
      stage: "sandbox",
      because: /no runtime for "gvisor"/,
      heals: true,
      fix: /spec\.runtimeClassName/,
    },
  ])("$name", expectExplained);
});

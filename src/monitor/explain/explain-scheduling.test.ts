import { describe, test } from "vitest";
import { condition, expectExplained, type Given } from "./explain-pod.fixture.ts";

describe("a pod without a node", () => {
  test.each<Given>([
    {
      name: "nobody has scheduled it",
      nodeName: "",
      stage: "scheduling",
      since: "00:00",
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
            message:
              "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1.",
          }),
        ],
      },
      stage: "scheduling",
      since: "00:10",
      because: /^0\/1 nodes are available: 1 Insufficient cpu\.$/,
      heals: true,
      fix: /lower resources\.requests/,
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
      name: "a gate holds it",
      nodeName: "",
      spec: { schedulingGates: [{ name: "example.com/quota" }] },
      status: { conditions: [condition("PodScheduled", "False", { reason: "SchedulingGated" })] },
      stage: "scheduling",
      because: /example\.com\/quota/,
      heals: false,
      fix: /spec\.schedulingGates/,
    },
  ])("$name", expectExplained);
});

import { describe, expect, test } from "vitest";
import type { Container, PodSpec } from "../../api/objects.ts";
import { makePod } from "./make-pod.fixture.ts";
import { oomScoreAdjust } from "./oom-score.ts";

const memoryBytes = 8_000_000_000;
const asking = (memory: string, rest: Partial<Container> = {}): Container => ({
  name: "c",
  resources: { requests: { memory } },
  ...rest,
});
const fixed = { limits: { cpu: "1", memory: "1Gi" } };
const sidecar = (memory: string) => asking(memory, { name: "s", restartPolicy: "Always" });

describe("oomScoreAdjust", () => {
  test.each<[string, Partial<PodSpec>, number]>([
    ["best effort", { containers: [{ name: "c" }] }, 1_000],
    ["guaranteed", { containers: [{ name: "c", resources: fixed }] }, -997],
    ["burstable without memory", { containers: [{ name: "c", resources: { requests: { cpu: "1" } } }] }, 999],
    ["a tenth of the memory", { containers: [asking("800M")] }, 900],
    ["a share is rounded down", { containers: [asking("799999999")] }, 901],
    ["all of the memory", { containers: [asking("8G")] }, 3],
    ["more than there is", { containers: [asking("100G")] }, 3],
    ["next to nothing", { containers: [asking("1k")] }, 999],
    [
      "critical for the node",
      { containers: [{ name: "c" }], priorityClassName: "system-node-critical", priority: 2_000_001_000 },
      -997,
    ],
    [
      "critical in name only",
      { containers: [{ name: "c" }], priorityClassName: "system-node-critical", priority: 1 },
      1_000,
    ],
    [
      "a share of what the pod asks for as a whole",
      {
        containers: [asking("800M"), asking("0", { name: "d" })],
        resources: { requests: { memory: "2400M" } },
      },
      800,
    ],
  ])("%s", (_, spec, score) => {
    const pod = makePod(spec);
    const [container = asking("0")] = pod.spec?.containers ?? [];
    expect(oomScoreAdjust(pod, container, memoryBytes)).toBe(score);
  });

  test.each([
    ["below its containers is as safe as the least of them", "80M", 900],
    ["above them is safer", "1600M", 800],
  ])("a sidecar %s", (_, memory, score) => {
    const containers = [asking("800M"), asking("1600M", { name: "d" })];
    const pod = makePod({ containers, initContainers: [sidecar(memory)] });
    expect(oomScoreAdjust(pod, sidecar(memory), memoryBytes)).toBe(score);
  });
});

import { expect, test } from "vitest";
import type { Pod, PodCondition, PodStatus } from "../../api/objects.ts";
import { waterfall } from "./waterfall.ts";

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
const isTrue = (type: string, second: number): PodCondition => ({
  type,
  status: "True",
  lastTransitionTime: at(second),
});
const isFalse = (type: string, second: number): PodCondition => ({
  ...isTrue(type, second),
  status: "False",
});
const main = (state: object) => [
  { name: "c", image: "i", imageID: "", ready: false, restartCount: 0, state },
];

function shown(status: PodStatus): string {
  const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata: { creationTimestamp: at(0) }, status };
  const second = (ms: number) => ms / 1_000 - Date.parse(at(0)) / 1_000;
  return waterfall(pod)
    .map(
      ({ name, startMs, endMs }) => `${name} ${second(startMs)}-${endMs === undefined ? "" : second(endMs)}`,
    )
    .join(", ");
}

test.each<{ name: string; status: PodStatus; expected: string }>([
  { name: "just made", status: {}, expected: "scheduling 0-" },
  {
    name: "waiting for a sandbox",
    status: { conditions: [isTrue("PodScheduled", 1), isFalse("PodReadyToStartContainers", 1)] },
    expected: "scheduling 0-1, volumes and sandbox 1-",
  },
  {
    name: "ready",
    status: {
      conditions: [isTrue("PodScheduled", 1), isTrue("PodReadyToStartContainers", 3), isTrue("Ready", 9)],
      containerStatuses: main({ running: { startedAt: at(7) } }),
    },
    expected: "scheduling 0-1, volumes and sandbox 1-3, images and containers 3-7, until ready 7-9",
  },
  {
    name: "init containers",
    status: {
      conditions: [
        isTrue("PodScheduled", 1),
        isTrue("PodReadyToStartContainers", 2),
        isTrue("Initialized", 5),
      ],
      initContainerStatuses: [
        {
          ...main({ terminated: { exitCode: 0, startedAt: at(3), finishedAt: at(5) } })[0],
          name: "i",
        } as never,
      ],
    },
    expected: "scheduling 0-1, volumes and sandbox 1-2, init i 3-5, images and containers 5-",
  },
  {
    name: "ended: what is not known any more is left out",
    status: {
      phase: "Succeeded",
      conditions: [isTrue("PodScheduled", 1), isFalse("PodReadyToStartContainers", 9)],
      containerStatuses: main({ terminated: { exitCode: 0, startedAt: at(4), finishedAt: at(9) } }),
    },
    expected: "scheduling 0-1",
  },
  {
    name: "a clock that ran back makes no negative time",
    status: { conditions: [isTrue("PodScheduled", 5), isTrue("PodReadyToStartContainers", 3)] },
    expected: "scheduling 0-5, volumes and sandbox 5-5, images and containers 3-",
  },
])("$name", ({ status, expected }) => {
  expect(shown(status)).toBe(expected);
});

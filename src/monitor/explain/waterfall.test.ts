import { expect, test } from "vitest";
import type { Event, Pod, PodCondition, PodStatus } from "../../api/objects.ts";
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
    expected: "scheduling 0-1, until it ran 1-4, ran 4-9",
  },
  {
    name: "a clock that ran back makes no negative time",
    status: { conditions: [isTrue("PodScheduled", 5), isTrue("PodReadyToStartContainers", 3)] },
    expected: "scheduling 0-5, images and containers 3-, volumes and sandbox 5-5",
  },
])("$name", ({ status, expected }) => {
  expect(shown(status)).toBe(expected);
});

test("pulls are told apart where the events or the kubelet tell of them", () => {
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { creationTimestamp: at(0) },
    spec: { containers: [{ name: "c", image: "r/a:1" }, { name: "d" }] },
    status: { conditions: [isTrue("PodScheduled", 1), isTrue("PodReadyToStartContainers", 2)] },
  };
  const pulled: Event = {
    apiVersion: "v1",
    kind: "Event",
    metadata: {},
    involvedObject: { fieldPath: "spec.containers{c}" },
    reason: "Pulled",
    message: 'Successfully pulled image "r/a:1" in 1.5s (1s250ms including waiting). Image size: 5 bytes.',
    lastTimestamp: at(9),
  };
  const running = { image: "r/b:1", container: "d", startedAt: at(4), offset: 1, total: 2 };
  const spans = waterfall(pod, { events: [pulled], pulls: [running] });
  const second = (ms: number | undefined) => (ms === undefined ? "" : (ms - Date.parse(at(0))) / 1_000);
  expect(spans.map(({ name, startMs, endMs }) => `${name} ${second(startMs)}-${second(endMs)}`)).toEqual([
    "scheduling 0-1",
    "volumes and sandbox 1-2",
    "containers 2-",
    "pull b:1 4-",
    "pull a:1 7.75-9",
  ]);
});

test("of a container that was restarted, the first start counts", () => {
  const [only] = main({ running: { startedAt: at(30) } });
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { creationTimestamp: at(0) },
    status: {
      conditions: [isTrue("PodScheduled", 1), isTrue("PodReadyToStartContainers", 2)],
      containerStatuses: only && [{ ...only, restartCount: 2 }],
    },
  };
  const started: Event = {
    apiVersion: "v1",
    kind: "Event",
    metadata: {},
    involvedObject: { fieldPath: "spec.containers{c}" },
    reason: "Started",
    firstTimestamp: at(3),
    lastTimestamp: at(30),
  };
  const made = waterfall(pod, { events: [started] }).find(({ name }) => name === "images and containers");
  expect(made?.endMs).toBe(Date.parse(at(3)));
});

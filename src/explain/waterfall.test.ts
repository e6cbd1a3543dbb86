import { expect, test } from "vitest";
import type { Event, Pod, PodCondition, PodStatus } from "../api/meta/objects.ts";
import { sandboxLostMs, waterfall } from "./waterfall.ts";

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
const main = (state: object, lastState = {}, restartCount = 0) => [
  { name: "c", image: "i", imageID: "", ready: false, restartCount, state, lastState },
];
const ran = (from: number, until: number) => ({
  terminated: { exitCode: 137, startedAt: at(from), finishedAt: at(until) },
});
const running = (from: number) => ({ running: { startedAt: at(from) } });

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
  { name: "just created", status: {}, expected: "scheduling 0-" },
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
    name: "terminated: unknown stages are omitted",
    status: {
      phase: "Succeeded",
      conditions: [isTrue("PodScheduled", 1), isFalse("PodReadyToStartContainers", 9)],
      containerStatuses: main({ terminated: { exitCode: 0, startedAt: at(4), finishedAt: at(9) } }),
    },
    expected: "scheduling 0-1, until it ran 1-4, ran 4-9",
  },
  {
    name: "sandbox lost: the current start begins with the loss",
    status: {
      conditions: [isTrue("PodScheduled", 1), isFalse("PodReadyToStartContainers", 20), isFalse("Ready", 20)],
      containerStatuses: main(ran(5, 19)),
    },
    expected: "volumes and sandbox 20-",
  },
  {
    name: "sandbox re-created: the containers of the previous one do not count",
    status: {
      conditions: [isTrue("PodScheduled", 1), isTrue("PodReadyToStartContainers", 22), isFalse("Ready", 19)],
      containerStatuses: main({ waiting: { reason: "ContainerCreating" } }, ran(5, 19)),
    },
    expected: "volumes and sandbox 19-22, images and containers 22-",
  },
  {
    name: "sandbox re-created, ready again",
    status: {
      conditions: [isTrue("PodScheduled", 1), isTrue("PodReadyToStartContainers", 22), isTrue("Ready", 30)],
      containerStatuses: main(running(25), ran(5, 19), 1),
    },
    expected: "volumes and sandbox 19-22, images and containers 22-25, until ready 25-30",
  },
  {
    name: "sandbox re-created, and a container crashed in it",
    status: {
      conditions: [isTrue("PodScheduled", 1), isTrue("PodReadyToStartContainers", 22), isFalse("Ready", 19)],
      containerStatuses: [...main(running(40), ran(25, 28), 2), ...main(running(24), ran(5, 19), 1)],
    },
    expected: "volumes and sandbox 19-22, images and containers 22-25, until ready 25-",
  },
  {
    name: "a condition that is written after containers have started is no second sandbox",
    status: {
      conditions: [
        isTrue("PodScheduled", 1),
        isTrue("PodReadyToStartContainers", 4),
        isTrue("Initialized", 4),
      ],
      initContainerStatuses: [{ ...main(ran(2, 3))[0], name: "i" } as never],
      containerStatuses: main(running(3)),
    },
    expected:
      "scheduling 0-1, volumes and sandbox 1-4, init i 2-3, until ready 3-, images and containers 4-4",
  },
  {
    name: "a clock that was set back causes no negative duration",
    status: { conditions: [isTrue("PodScheduled", 5), isTrue("PodReadyToStartContainers", 3)] },
    expected: "scheduling 0-5, images and containers 3-, volumes and sandbox 5-5",
  },
])("$name", ({ status, expected }) => {
  expect(shown(status)).toBe(expected);
});

test("pulls that events or the kubelet report are separate spans", () => {
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

test("retries to create the first sandbox are part of the first start", () => {
  const retried: Event = {
    apiVersion: "v1",
    kind: "Event",
    metadata: {},
    involvedObject: {},
    reason: "SandboxChanged",
    lastTimestamp: at(20),
  };
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { creationTimestamp: at(0) },
    status: {
      conditions: [isTrue("PodScheduled", 1), isTrue("PodReadyToStartContainers", 22)],
      containerStatuses: main(running(25)),
    },
  };
  expect(sandboxLostMs(pod, [retried])).toBeUndefined();
});

test("takes the time at which a sandbox was lost from the kubelet's event, and ignores earlier pulls", () => {
  const event = (reason: string, second: number, message: string): Event => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: {},
    involvedObject: { fieldPath: "spec.containers{c}" },
    reason,
    message,
    lastTimestamp: at(second),
  });
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { creationTimestamp: at(0) },
    spec: { containers: [{ name: "c" }] },
    status: {
      conditions: [isTrue("PodScheduled", 1), isTrue("PodReadyToStartContainers", 22)],
      containerStatuses: main(running(25), ran(5, 15), 1),
    },
  };
  const events = [
    event("Pulled", 4, 'Successfully pulled image "a:1" in 1s (1s including waiting). Image size: 5 bytes.'),
    event("SandboxChanged", 18, "Pod sandbox changed, it will be killed and re-created."),
  ];
  const second = (ms: number | undefined) => (ms === undefined ? "" : (ms - Date.parse(at(0))) / 1_000);
  expect(
    waterfall(pod, { events }).map(
      ({ name, startMs, endMs }) => `${name} ${second(startMs)}-${second(endMs)}`,
    ),
  ).toEqual(["volumes and sandbox 18-22", "images and containers 22-25", "until ready 25-"]);
});

test("uses the first start of a restarted container", () => {
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

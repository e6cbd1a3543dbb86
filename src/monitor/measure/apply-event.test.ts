import { describe, expect, test } from "vitest";
import { applyEvent, parsePullMessage } from "./apply-event.ts";
import { findUserError, userErrorIn } from "./read-pod.ts";
import { applyAll, describeSignal, event, ms, sketchPod } from "./start.fixture.ts";
import { decodeRecord, encodeRecord } from "./start-record.ts";
import { type TrackedStart, untracked } from "./tracked-start.ts";

const pulled = 'Successfully pulled image "app:1" in 1.2s (3s including waiting). Image size: 1234 bytes.';

function follow(state: TrackedStart, ...events: ReturnType<typeof event>[]) {
  const signals: string[] = [];
  let next = state;
  for (const each of events) {
    const step = applyEvent(next, each, { sinceMs: ms("15:00:00") });
    next = step.next;
    signals.push(...step.signals.map(describeSignal));
  }
  return { signals, next };
}

describe("pulls", () => {
  test("emits each pull once, however often its event arrives", () => {
    const other = { metadata: { uid: "event-2", name: "b", namespace: "shop" } };
    const { signals, next } = follow(
      untracked,
      event("Pulled", pulled),
      event("Pulled", pulled),
      event("Pulled", pulled, other),
    );
    expect(signals).toEqual(["pull app:1 1.2 s 1234 bytes", "pull app:1 1.2 s 1234 bytes"]);
    expect(next.pulls).toHaveLength(2);
    expect(next.pulls[0]?.endedMs).toBe(ms("15:33:50"));
    expect(decodeRecord(encodeRecord(next))).toEqual(next);
  });

  test("emits another pull when the event count increases", () => {
    expect(
      follow(untracked, event("Pulled", pulled), event("Pulled", pulled, { count: 2 })).signals,
    ).toHaveLength(2);
  });

  test("reads the series of events.k8s.io recorders", () => {
    const newer = { lastTimestamp: undefined, count: undefined, eventTime: "2022-12-06T15:33:48.5Z" };
    const series = { count: 2, lastObservedTime: "2022-12-06T15:33:52Z" };
    const { signals, next } = follow(
      untracked,
      event("Pulled", pulled, newer),
      event("Pulled", pulled, newer),
      event("Pulled", pulled, { ...newer, series }),
    );
    expect(signals).toHaveLength(2);
    expect(next.pulls.map(({ endedMs }) => endedMs)).toEqual([ms("15:33:48.5"), ms("15:33:52")]);
  });

  test("ignores pulls before the monitor started and beyond the limit", () => {
    expect(
      follow(untracked, event("Pulled", pulled, { lastTimestamp: "2022-12-06T14:59:59Z" })).signals,
    ).toEqual([]);
    const many = Array.from({ length: 80 }, (_, count) => event("Pulled", pulled, { count }));
    expect(follow(untracked, ...many).signals).toHaveLength(50);
  });
});

describe("3085-12 user errors", () => {
  const missing = 'MountVolume.SetUp failed for volume "s" : secret "x" not found';
  test("are emitted once and recorded", () => {
    const { signals, next } = follow(
      untracked,
      event("FailedMount", missing),
      event("FailedMount", missing, { count: 2 }),
    );
    expect(signals).toEqual(["user error MissingSecret"]);
    expect(next.userError).toBe('MissingSecret: secret "x" not found');
  });

  test("an older event does not mark a finished start", () => {
    expect(follow({ ...untracked, outcome: "ready" }, event("FailedMount", missing)).signals).toEqual([]);
  });

  test.each([
    ['MountVolume.SetUp failed for volume "c" : configmap "conf" not found', "MissingConfigMap"],
    [
      'MountVolume.SetUp failed for volume "all" : [secret "a" not found, configmap "b" not found]',
      "MissingSecret",
    ],
    ['MountVolume.SetUp failed for volume "d" : rpc error: secret "csi" not found', undefined],
    ['MountVolume.MountDevice failed for volume "d" : timed out', undefined],
    ["", undefined],
  ])("%s", (message, reason) => {
    expect(userErrorIn(event("FailedMount", message))?.reason).toBe(reason);
    expect(userErrorIn(event("Failed", message))).toBeUndefined();
  });

  const waiting = (reason: string) => ({ containers: [{ state: { waiting: { reason, message: "no" } } }] });
  test.each([
    [
      {
        conditions: [{ type: "FailingToStart", status: "True", reason: "InvalidImageName", message: "bad" }],
      },
      "InvalidImageName: bad",
    ],
    [{ conditions: [{ type: "FailingToStart", status: "False" }] }, undefined],
    // Stale: the gate of the kubelet was turned off before the container started.
    [
      {
        conditions: [{ type: "FailingToStart", status: "True", reason: "InvalidImageName", message: "bad" }],
        containers: [{ state: { running: {} } }],
      },
      undefined,
    ],
    [
      {
        conditions: [
          { type: "PodReadyToStartContainers", status: "False", reason: "FailedMount", message: missing },
        ],
      },
      'MissingSecret: secret "x" not found',
    ],
    [waiting("CreateContainerConfigError"), "CreateContainerConfigError: no"],
    [waiting("ImagePullBackOff"), undefined],
  ])("are read from the status %j", (sketch, message) => {
    expect(findUserError(sketchPod(sketch))?.message).toBe(message);
  });

  test("are emitted with the next state of the pod", () => {
    expect(applyAll([{ scheduled: "True 15:33:46", ...waiting("InvalidImageName") }]).signals).toEqual([
      "user error InvalidImageName",
      "scheduling 1 s",
    ]);
  });
});

const of = (rest: string) => `Successfully pulled image "r.example/app:1" in ${rest}`;

test.each([
  [of("1.2s (3s including waiting). Image size: 1234 bytes."), 1.2, 1234],
  [of("350ms (350ms including waiting). Image size: 0 bytes."), 0.35, 0],
  [of("1m10s (1m10s including waiting)"), 70, undefined],
  [of("1h2m3.5s"), 3_723.5, undefined],
  [of("15.5µs (1s including waiting)"), 0.0000155, undefined],
  [of("0s (0s including waiting). Image size: 7 bytes."), 0, 7],
])("%s", (message, seconds, bytes) => {
  const pull = parsePullMessage(message);
  expect(pull).toMatchObject({ image: "r.example/app:1", bytes });
  expect(pull?.seconds).toBeCloseTo(seconds, 9);
});

test.each([
  ['Container image "app" already present on machine'],
  [of("soon (1s including waiting)")],
  [of("1s2 (1s including waiting)")],
  [of("-5s (1s including waiting)")],
  [""],
])("ignores the message %s", (message) => {
  expect(parsePullMessage(message)).toBeUndefined();
});

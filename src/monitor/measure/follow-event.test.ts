import { describe, expect, test } from "vitest";
import { followEvent } from "./follow-event.ts";
import { event, followAll, ms, say, sketchPod } from "./start.fixture.ts";
import { decodeRecord, encodeRecord } from "./start-record.ts";
import { type TrackedStart, untracked } from "./tracked-start.ts";
import { findUserError, userErrorIn } from "./user-error.ts";

const pulled = 'Successfully pulled image "app:1" in 1.2s (3s including waiting). Image size: 1234 bytes.';

function follow(state: TrackedStart, ...events: ReturnType<typeof event>[]) {
  const told: string[] = [];
  let next = state;
  for (const each of events) {
    const step = followEvent(next, each, { sinceMs: ms("15:00:00") });
    next = step.next;
    told.push(...step.told.map(say));
  }
  return { told, next };
}

describe("pulls", () => {
  test("each is told once, however often its event comes", () => {
    const other = { metadata: { uid: "event-2", name: "b", namespace: "shop" } };
    const { told, next } = follow(
      untracked,
      event("Pulled", pulled),
      event("Pulled", pulled),
      event("Pulled", pulled, other),
    );
    expect(told).toEqual(["pull app:1 1.2 s 1234 bytes", "pull app:1 1.2 s 1234 bytes"]);
    expect(next.pulls).toHaveLength(2);
    expect(next.pulls[0]?.endedMs).toBe(ms("15:33:50"));
    expect(decodeRecord(encodeRecord(next))).toEqual(next);
  });

  test("an event that counts on tells another", () => {
    expect(
      follow(untracked, event("Pulled", pulled), event("Pulled", pulled, { count: 2 })).told,
    ).toHaveLength(2);
  });

  test("recorders of events.k8s.io count in a series, and leave the older fields empty", () => {
    const newer = { lastTimestamp: undefined, count: undefined, eventTime: "2022-12-06T15:33:48.5Z" };
    const series = { count: 2, lastObservedTime: "2022-12-06T15:33:52Z" };
    const { told, next } = follow(
      untracked,
      event("Pulled", pulled, newer),
      event("Pulled", pulled, newer),
      event("Pulled", pulled, { ...newer, series }),
    );
    expect(told).toHaveLength(2);
    expect(next.pulls.map(({ endedMs }) => endedMs)).toEqual([ms("15:33:48.5"), ms("15:33:52")]);
  });

  test("those before the monitor's time are not told, nor those of an endless row", () => {
    expect(
      follow(untracked, event("Pulled", pulled, { lastTimestamp: "2022-12-06T14:59:59Z" })).told,
    ).toEqual([]);
    const many = Array.from({ length: 80 }, (_, count) => event("Pulled", pulled, { count }));
    expect(follow(untracked, ...many).told).toHaveLength(50);
  });
});

describe("3085-12 the user's own errors", () => {
  const missing = 'MountVolume.SetUp failed for volume "s" : secret "x" not found';
  test("are told once, and marked", () => {
    const { told, next } = follow(
      untracked,
      event("FailedMount", missing),
      event("FailedMount", missing, { count: 2 }),
    );
    expect(told).toEqual(["user error MissingSecret"]);
    expect(next.userError).toBe('MissingSecret: secret "x" not found');
  });

  test("an event from before does not mark a start that is over", () => {
    expect(follow({ ...untracked, outcome: "ready" }, event("FailedMount", missing)).told).toEqual([]);
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
  ])("from the status %j", (sketch, message) => {
    expect(findUserError(sketchPod(sketch))?.message).toBe(message);
  });

  test("an error of the pod is told with its next state", () => {
    expect(followAll([{ scheduled: "True 15:33:46", ...waiting("InvalidImageName") }]).told).toEqual([
      "user error InvalidImageName",
      "scheduling 1 s",
    ]);
  });
});

import { describe, expect, test } from "vitest";
import type { ContainerStatus } from "../api/meta/objects.ts";
import { causes } from "./causes.ts";
import { failingToStart, type StartFacts } from "./failing-to-start.ts";

function statusBefore(name: string, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: `registry/${name}:1`, imageID: "", ready: false, restartCount: 0, ...more };
}

describe("failing-to-start", () => {
  const waiting = (name: string, reason?: string, message?: string) =>
    statusBefore(name, { state: { waiting: { reason, message } } });
  const failing = (statuses: StartFacts["statuses"], ended = false, previous: StartFacts["previous"] = {}) =>
    failingToStart({ statuses, ended, previous });
  const isFalse = { type: "FailingToStart", status: "False" };

  test.each([
    ["3815-1", "InvalidImageName", 'couldn\'t parse image name "BUSYBOX"'],
    ["3815-2", "ErrImageNeverPull", 'Container image "x" is not present with pull policy of Never'],
    ["3815-3", "CreateContainerConfigError", 'configmap "c" not found'],
  ])("%s %s: the container's reason and message", (_, reason, message) => {
    expect(failing([waiting("web", reason, message)])).toEqual({
      type: "FailingToStart",
      status: "True",
      reason,
      message,
    });
  });

  test.each([
    ...new Set(causes.filter((cause) => !cause.setsFailingToStart).flatMap(({ reasons }) => reasons)),
  ])("3815-4 %s is not a failure to start", (reason) =>
    expect(failing([waiting("web", reason, "x")])).toEqual(isFalse),
  );

  test("3815-7 names each of several containers", () => {
    const statuses = [
      waiting("init", "CreateContainerConfigError", 'secret "s" not found'),
      waiting("fine", "ContainerCreating"),
      waiting("web", "InvalidImageName"),
    ];
    expect(failing(statuses)).toEqual({
      type: "FailingToStart",
      status: "True",
      reason: "CreateContainerConfigError",
      message:
        'container init: CreateContainerConfigError: secret "s" not found; container web: InvalidImageName',
    });
  });

  test("3815-5 a running container is not failing to start", () => {
    expect(failing([statusBefore("web", { state: { running: {} } })])).toEqual(isFalse);
  });

  describe("the end of the pod", () => {
    const conditions = [
      {
        type: "FailingToStart",
        status: "True",
        reason: "InvalidImageName",
        message: "bad",
        observedGeneration: 1,
      },
    ];
    const kept = { type: "FailingToStart", status: "True", reason: "InvalidImageName", message: "bad" };
    const stuck = waiting("web", "InvalidImageName", "bad");
    const ran = {
      ...statusBefore("web", { state: { terminated: { exitCode: 0 } } }),
      containerID: "test://b",
    };
    const lost = statusBefore("web", { state: { terminated: { exitCode: 137 } } });

    test.each<[string, StartFacts["previous"], StartFacts["statuses"], object]>([
      ["3815-9 keeps status, reason and message", { conditions, containerStatuses: [stuck] }, [lost], kept],
      ["3815-9 keeps them once it has been written", { conditions, containerStatuses: [lost] }, [lost], kept],
      ["3815-9 keeps them for a pod without statuses", { conditions }, [], kept],
      [
        "3815-9 keeps them where another container ran",
        { conditions, containerStatuses: [statusBefore("a"), stuck] },
        [{ ...ran, name: "a" }, lost],
        kept,
      ],
      [
        "3815-9 keeps them for a container that ran once and could not be started again",
        { conditions, containerStatuses: [{ ...stuck, containerID: "test://b" }] },
        [ran],
        kept,
      ],
      [
        "3815-9 of an init container",
        { conditions, initContainerStatuses: [stuck] },
        [lost, waiting("main", "PodInitializing")],
        kept,
      ],
      ["the container was created meanwhile", { conditions, containerStatuses: [stuck] }, [ran], isFalse],
      ["it was not failing before", { containerStatuses: [stuck] }, [stuck], isFalse],
      ["it has just been seen", {}, [stuck], isFalse],
    ])("%s", (_, previous, statuses, expected) => {
      expect(failing(statuses, true, previous)).toEqual(expected);
    });
  });

  test("a waiting container without a reason", () => {
    expect(failing([waiting("web")])).toEqual(isFalse);
  });
});

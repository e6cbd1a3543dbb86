import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Pod, PodCondition } from "../../api/meta/objects.ts";
import { conflict, notFound, type StatusError } from "../../api/meta/status-error.ts";
import type { Client, Patch } from "../../client/api/client.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { describePod } from "../model/pod-info.ts";
import { makePod } from "../model/scheduling.fixture.ts";
import { createOutcomeWriter, failedCondition, shortenNote } from "./outcome-writer.ts";

const failure = { reason: "Unschedulable", message: "0/1 nodes are available" } as const;
const { signal } = new AbortController();
const pods = { group: "", plural: "pods" };
const at = (resourceVersion: string, nodeName?: string) =>
  makePod({ metadata: { resourceVersion }, ...(nodeName && { nodeName }) });
const info = describePod(at("1"));

const record = vi.fn();
const patch = vi.fn<(resource: string, key: object, options: { patch: Patch }) => Promise<Pod>>();
const get = vi.fn<() => Promise<Pod>>();
const request = vi.fn<(method: string, path: string, options?: object) => Promise<unknown>>();
const writer = (waiting: Pod | undefined) =>
  createOutcomeWriter({
    client: { patch, get, request } as unknown as Client,
    recorder: { record },
    clock: createManualClock(),
    logger: silentLogger,
    waitingPod: () => waiting,
  });
const versions = () => patch.mock.calls.map(([, , options]) => options.patch.body);

beforeEach(() => {
  vi.resetAllMocks();
});

describe("recordUnschedulable", () => {
  test("records an event and patches the condition with the observed resourceVersion", async () => {
    await writer(at("1")).recordUnschedulable(info, failure, signal);
    expect(record).toHaveBeenCalledWith(info.pod, {
      type: "Warning",
      reason: "FailedScheduling",
      message: failure.message,
    });
    expect(versions()).toMatchObject([{ metadata: { uid: info.uid, resourceVersion: "1" } }]);
  });

  test("does not patch a pod that is no longer pending", async () => {
    await writer(undefined).recordUnschedulable(info, failure, signal);
    expect(patch).not.toHaveBeenCalled();
  });

  test("retries with the new version when the pod changed", async () => {
    patch.mockRejectedValueOnce(conflict(pods, "web", "modified"));
    get.mockResolvedValueOnce(at("2"));
    await writer(at("1")).recordUnschedulable(info, failure, signal);
    expect(versions()).toMatchObject([
      { metadata: { resourceVersion: "1" } },
      { metadata: { resourceVersion: "2" } },
    ]);
  });

  test("does not patch a pod that was bound in the meantime", async () => {
    patch.mockRejectedValueOnce(conflict(pods, "web", "modified"));
    get.mockResolvedValueOnce(at("2", "a"));
    await writer(at("1")).recordUnschedulable(info, failure, signal);
    expect(patch).toHaveBeenCalledOnce();
  });

  test.each<[string, StatusError, number]>([
    ["that was deleted", notFound(pods, "web"), 1],
    ["that keeps changing", conflict(pods, "web", "modified"), 3],
  ])("gives up for a pod %s", async (_, error, tries) => {
    patch.mockRejectedValue(error);
    get.mockResolvedValue(at("2"));
    await writer(at("1")).recordUnschedulable(info, failure, signal);
    expect(patch).toHaveBeenCalledTimes(tries);
  });
});

test("a binding waits for a condition patch in progress", async () => {
  let finish: (() => void) | undefined;
  patch.mockImplementationOnce(async () => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return at("2");
  });
  const outcomes = writer(at("1"));
  const refusing = outcomes.recordUnschedulable(info, failure, signal);
  const binding = outcomes.bind(info, "a", signal);
  await expect.poll(() => finish).toBeDefined();
  expect(request).not.toHaveBeenCalled();
  finish?.();
  await Promise.all([refusing, binding]);
  expect(request).toHaveBeenCalledWith("POST", "/api/v1/namespaces/default/pods/web/binding", {
    body: {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { namespace: "default", name: "web", uid: info.uid },
      target: { kind: "Node", name: "a" },
    },
    signal,
  });
});

test("records no event when the binding is rejected", async () => {
  request.mockRejectedValueOnce(conflict(pods, "web", "already assigned"));
  await expect(writer(undefined).bind(info, "a", signal)).rejects.toThrow("already assigned");
  expect(record).not.toHaveBeenCalled();
});

const now = Date.parse("2026-02-03T04:05:06.789Z");
const before: PodCondition = {
  type: "PodScheduled",
  status: "False",
  reason: "Unschedulable",
  message: "0/1 nodes are available",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};
const podWith = (...conditions: PodCondition[]) => makePod({ status: { conditions } });

describe("failedCondition", () => {
  test("sets the transition time and the observed generation", () => {
    expect(failedCondition(makePod({ metadata: { generation: 3 } }), failure, now)).toEqual({
      type: "PodScheduled",
      status: "False",
      reason: "Unschedulable",
      message: "0/1 nodes are available",
      observedGeneration: 3,
      lastTransitionTime: "2026-02-03T04:05:06Z",
    });
  });
  test("returns undefined when the condition is unchanged", () => {
    expect(failedCondition(podWith(before), failure, now)).toBeUndefined();
  });
  test("keeps the transition time when only the message changes", () => {
    const changed = failedCondition(podWith({ ...before, message: "0/2 nodes" }), failure, now);
    expect(changed).toMatchObject({
      message: "0/1 nodes are available",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    });
  });
});

test("shortens a note to the maximum length of an event", () => {
  expect(shortenNote("x".repeat(1_024))).toHaveLength(1_024);
  expect(shortenNote("x".repeat(1_025))).toBe(`${"x".repeat(1_020)} ...`);
});

import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Pod } from "../api/objects.ts";
import { conflict, notFound, type StatusError } from "../api/status-error.ts";
import type { Client, Patch } from "../client/client.ts";
import { silentLogger } from "../lib/logger.ts";
import { createManualClock } from "../lib/manual-clock.ts";
import { createOutcomeWriter } from "./outcome-writer.ts";
import { describePod } from "./pod-info.ts";
import { makePod } from "./scheduling.fixture.ts";

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

describe("a refusal", () => {
  test("is an event and a condition, for the version that was looked at", async () => {
    await writer(at("1")).refuse(info, failure, signal);
    expect(record).toHaveBeenCalledWith(info.pod, {
      type: "Warning",
      reason: "FailedScheduling",
      message: failure.message,
    });
    expect(versions()).toMatchObject([{ metadata: { uid: info.uid, resourceVersion: "1" } }]);
  });

  test("is not written to a pod that no longer waits", async () => {
    await writer(undefined).refuse(info, failure, signal);
    expect(patch).not.toHaveBeenCalled();
  });

  test("is written to the next version when the pod changed meanwhile", async () => {
    patch.mockRejectedValueOnce(conflict(pods, "web", "modified"));
    get.mockResolvedValueOnce(at("2"));
    await writer(at("1")).refuse(info, failure, signal);
    expect(versions()).toMatchObject([
      { metadata: { resourceVersion: "1" } },
      { metadata: { resourceVersion: "2" } },
    ]);
  });

  test("is not written to a pod that somebody has bound meanwhile", async () => {
    patch.mockRejectedValueOnce(conflict(pods, "web", "modified"));
    get.mockResolvedValueOnce(at("2", "a"));
    await writer(at("1")).refuse(info, failure, signal);
    expect(patch).toHaveBeenCalledOnce();
  });

  test.each<[string, StatusError, number]>([
    ["that is gone", notFound(pods, "web"), 1],
    ["that keeps changing", conflict(pods, "web", "modified"), 3],
  ])("of a pod %s is left at that", async (_, error, tries) => {
    patch.mockRejectedValue(error);
    get.mockResolvedValue(at("2"));
    await writer(at("1")).refuse(info, failure, signal);
    expect(patch).toHaveBeenCalledTimes(tries);
  });
});

test("a binding waits for a refusal that is on its way", async () => {
  let finish: (() => void) | undefined;
  patch.mockImplementationOnce(async () => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return at("2");
  });
  const outcomes = writer(at("1"));
  const refusing = outcomes.refuse(info, failure, signal);
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

test("a binding that is refused is not announced", async () => {
  request.mockRejectedValueOnce(conflict(pods, "web", "already assigned"));
  await expect(writer(undefined).bind(info, "a", signal)).rejects.toThrow("already assigned");
  expect(record).not.toHaveBeenCalled();
});

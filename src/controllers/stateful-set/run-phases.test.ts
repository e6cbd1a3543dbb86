import { describe, expect, test } from "vitest";
import { StatusError } from "../../api/meta/status-error.ts";
import type { EventToRecord } from "../../client/events/event-recorder.ts";
import { createSimulatedApi } from "../shared/simulated-api.fixture.ts";
import { runPhases } from "./run-phases.ts";
import { makeClaim, makePod, makeSet } from "./stateful-set.fixture.ts";
import type { PodAction } from "./stateful-set-facts.ts";

const set = makeSet();
const { signal } = new AbortController();

function start(refuse?: (call: string) => StatusError | undefined) {
  const api = createSimulatedApi();
  const events: EventToRecord[] = [];
  const client = api.client((call, when) => {
    const refusal = when === "before" ? refuse?.(call) : undefined;
    if (refusal) throw refusal;
  });
  const recorder = { record: (_: unknown, event: EventToRecord) => void events.push(event) };
  const run = (actions: readonly PodAction[], burst = false) =>
    runPhases({ client, recorder }, { set, phases: [actions.map((action) => [action])], burst }, signal);
  return { api, events, run };
}

const planned = (ordinal: number) => {
  const { status: _, ...pod } = makePod(set, `${ordinal} new coming`);
  return pod;
};
const forbidden = new StatusError(403, "Forbidden", "exceeded quota");

describe("events equal upstream's", () => {
  test.each<[PodAction, object]>([
    [
      { kind: "createPod", pod: planned(0) },
      {
        type: "Normal",
        reason: "SuccessfulCreate",
        message: "Create Pod web-0 in StatefulSet web successful",
      },
    ],
    [
      { kind: "createClaim", pod: planned(0), claim: makeClaim("data-web-0") },
      {
        type: "Normal",
        reason: "SuccessfulCreate",
        message: "Create Claim data-web-0 Pod web-0 in StatefulSet web success",
      },
    ],
    [
      { kind: "deletePod", pod: planned(0), why: "updated" },
      {
        type: "Normal",
        reason: "SuccessfulDelete",
        message: "Delete Pod web-0 in StatefulSet web successful",
      },
    ],
  ])("%j", async (action, expected) => {
    const { events, run } = start();
    expect(await run([action])).toEqual({ done: new Set([action]) });
    expect(events).toEqual([expected]);
  });

  test.each<[PodAction, object]>([
    [
      { kind: "createPod", pod: planned(0) },
      { reason: "FailedCreate", message: "Create Pod web-0 in StatefulSet web failed error: exceeded quota" },
    ],
    [
      { kind: "createClaim", pod: planned(0), claim: makeClaim("data-web-0") },
      {
        reason: "FailedCreate",
        message: "Create Claim data-web-0 for Pod web-0 in StatefulSet web failed error: exceeded quota",
      },
    ],
    [
      { kind: "deletePod", pod: planned(0), why: "updated" },
      { reason: "FailedDelete", message: "Delete Pod web-0 in StatefulSet web failed error: exceeded quota" },
    ],
    [
      { kind: "correctPod", pod: planned(0) },
      { reason: "FailedUpdate", message: "Update Pod web-0 in StatefulSet web failed error: exceeded quota" },
    ],
    [
      { kind: "fail", verb: "create", pod: planned(0), message: "pvc data-web-0 is being deleted" },
      {
        reason: "FailedCreate",
        message: "Create Pod web-0 in StatefulSet web failed error: pvc data-web-0 is being deleted",
      },
    ],
  ])("on failure: %j", async (action, expected) => {
    const { events, run } = start(() => forbidden);
    const { done, failure } = await run([action]);
    expect(done.size).toBe(0);
    expect(failure).toBeInstanceOf(Error);
    expect(events).toEqual([{ type: "Warning", ...expected }]);
  });
});

test("fails without an event if the pod exists already", async () => {
  const { api, events, run } = start();
  api.put("pods", planned(0));
  expect((await run([{ kind: "createPod", pod: planned(0) }])).failure).toMatchObject({
    reason: "AlreadyExists",
  });
  expect(events).toEqual([]);
});

test("does not delete a successor of the pod with the same name", async () => {
  const { api, run } = start();
  api.put("pods", { ...planned(0), metadata: { ...planned(0).metadata, uid: "younger" } });
  const { failure } = await run([{ kind: "deletePod", pod: planned(0), why: "updated" }]);
  expect(failure).toBeUndefined();
  expect(api.get("pods", "default/web-0")?.metadata.deletionTimestamp).toBeUndefined();
});

test("skips the actions after a failure", async () => {
  const { api, run } = start((call) => (call.includes("web-1") ? forbidden : undefined));
  const actions = [0, 1, 2].map((ordinal): PodAction => ({ kind: "createPod", pod: planned(ordinal) }));
  const { done } = await run(actions);
  expect([...done]).toEqual(actions.slice(0, 1));
  expect(api.list("pods")).toHaveLength(1);
});

test("limits Normal events of a burst so that warnings are still recorded", async () => {
  const { events, run } = start((call) => (call.includes("web-99") ? forbidden : undefined));
  await run(
    Array.from({ length: 100 }, (_, ordinal): PodAction => ({ kind: "createPod", pod: planned(ordinal) })),
    true,
  );
  expect(events.filter(({ type }) => type === "Normal")).toHaveLength(10);
  expect(events.filter(({ type }) => type === "Warning")).toMatchObject([{ reason: "FailedCreate" }]);
});

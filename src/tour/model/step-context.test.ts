import { expect, test } from "vitest";
import { isTrue } from "../../api/meta/object-facts.ts";
import type { Pod } from "../../api/meta/objects.ts";
import { notFound } from "../../api/meta/status-error.ts";
import type { Client } from "../../client/api/client.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createStepContext, StepFailure, type TourEvent } from "./step-context.ts";

const pod = (ready: boolean): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "default" },
  spec: { containers: [{ name: "app" }] },
  status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
});

/** Creates a context whose client returns these pods in order, and then the last one. */
function contextOf(pods: readonly (Pod | undefined)[], { paceMs = 0 } = {}) {
  const clock = createManualClock();
  const emitted: TourEvent[] = [];
  const stopping = new AbortController();
  let gets = 0;
  const client = {
    get: async () => {
      const found = pods[Math.min(gets++, pods.length - 1)];
      if (!found) throw notFound({ plural: "pods", group: "" }, "p");
      return found;
    },
    list: async () => ({ items: [], resourceVersion: "1" }),
  } as unknown as Client;
  const image = { reference: "i", bytes: 1, bytesPerSecond: 1, node: "node", simulated: true };
  const context = createStepContext({
    client,
    clock,
    image,
    signal: stopping.signal,
    paceMs,
    emit: (event) => void emitted.push(event),
  });
  return { context, clock, emitted, stopping };
}

test("emits each state, waits for a pod that is missing, and returns the wanted state", async () => {
  const { context, clock, emitted } = contextOf([pod(false), undefined, pod(true)]);
  const found = context.untilPod("p", "Ready", (facts) => isTrue(facts.pod, "Ready"));
  await clock.advance(1_000);
  expect(isTrue((await found).pod, "Ready")).toBe(true);
  expect(emitted.map(({ kind }) => kind)).toEqual(["state", "state"]);
});

test("shows a state for the pace time", async () => {
  const { context, clock } = contextOf([pod(true)], { paceMs: 2_000 });
  let over = false;
  const found = context
    .untilPod("p", "Ready", () => true)
    .then(() => {
      over = true;
    });
  await clock.advance(1_900);
  expect(over).toBe(false);
  await clock.advance(200);
  await found;
});

test("fails the step with the state that was not reached", async () => {
  const { context, clock } = contextOf([pod(false)]);
  const found = context.untilPod("p", "Ready", (facts) => isTrue(facts.pod, "Ready"));
  const failed = expect(found).rejects.toThrow(new StepFailure("pod p did not reach this state: Ready"));
  await clock.advance(200_000);
  await failed;
});

test("stops waiting when the tour is stopped", async () => {
  const { context, clock, stopping } = contextOf([pod(false)]);
  const found = context.untilPod("p", "Ready", () => false);
  await clock.advance(100);
  stopping.abort(new Error("stopped"));
  await expect(found).rejects.toThrow("stopped");
});

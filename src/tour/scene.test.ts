import { expect, test } from "vitest";
import { isTrue } from "../api/conditions.ts";
import type { Pod } from "../api/objects.ts";
import { notFound } from "../api/status-error.ts";
import type { Client } from "../client/client.ts";
import { createManualClock } from "../lib/manual-clock.ts";
import { createScene } from "./scene.ts";
import { StepFailure } from "./step-failure.ts";
import type { TourEvent } from "./tour-event.ts";

const pod = (ready: boolean): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "default" },
  spec: { containers: [{ name: "app" }] },
  status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
});

/** A cluster that answers with these pods one after the other, and with the last one from then on. */
function sceneOf(pods: readonly (Pod | undefined)[], { paceMs = 0 } = {}) {
  const clock = createManualClock();
  const told: TourEvent[] = [];
  const stopping = new AbortController();
  let look = 0;
  const client = {
    get: async () => {
      const found = pods[Math.min(look++, pods.length - 1)];
      if (!found) throw notFound({ plural: "pods", group: "" }, "p");
      return found;
    },
    list: async () => ({ items: [], resourceVersion: "1" }),
  } as unknown as Client;
  const image = { reference: "i", bytes: 1, bytesPerSecond: 1, node: "node", simulated: true };
  const scene = createScene({
    client,
    clock,
    image,
    signal: stopping.signal,
    paceMs,
    tell: (event) => void told.push(event),
  });
  return { scene, clock, told, stopping };
}

test("every look is told, a pod that is away for a moment is waited for, and the state is what was wanted", async () => {
  const { scene, clock, told } = sceneOf([pod(false), undefined, pod(true)]);
  const found = scene.untilPod("p", "Ready", (facts) => isTrue(facts.pod, "Ready"));
  await clock.advance(1_000);
  expect(isTrue((await found).pod, "Ready")).toBe(true);
  expect(told.map(({ kind }) => kind)).toEqual(["state", "state"]);
});

test("a state stays for as long as it takes to read it", async () => {
  const { scene, clock } = sceneOf([pod(true)], { paceMs: 2_000 });
  let over = false;
  const found = scene
    .untilPod("p", "Ready", () => true)
    .then(() => {
      over = true;
    });
  await clock.advance(1_900);
  expect(over).toBe(false);
  await clock.advance(200);
  await found;
});

test("what does not come fails the step, with what was waited for", async () => {
  const { scene, clock } = sceneOf([pod(false)]);
  const found = scene.untilPod("p", "Ready", (facts) => isTrue(facts.pod, "Ready"));
  const failed = expect(found).rejects.toThrow(new StepFailure("pod p did not come to this: Ready"));
  await clock.advance(200_000);
  await failed;
});

test("a tour that is stopped waits no more", async () => {
  const { scene, clock, stopping } = sceneOf([pod(false)]);
  const found = scene.untilPod("p", "Ready", () => false);
  await clock.advance(100);
  stopping.abort(new Error("stopped"));
  await expect(found).rejects.toThrow("stopped");
});

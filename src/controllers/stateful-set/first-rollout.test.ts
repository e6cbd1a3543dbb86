// Clauses: 3541-10
import { describe, expect, test } from "vitest";
import type { Shape, Step } from "./controller-steps.fixture.ts";
import { createWorld } from "./controller-world.fixture.ts";
import { imageOf, setImage } from "./simulated-pod.fixture.ts";

const broken = "broken:permanent";
const noLag = { statefulsets: 0, pods: 0, persistentvolumeclaims: 0, controllerrevisions: 0 };
const key = (ordinal: number) => `default/web-${ordinal}`;
const lose = (ordinal: number): Step[] => [
  { kind: "evict", ordinal },
  { kind: "node", ordinal, does: "finish" },
];

/**
 * Kills the controller in the first rollout, at a call of the sync after these rounds. Before the next controller starts,
 * the existing pods become Ready, `lost` is deleted, and one change sets a broken template and more replicas.
 */
async function killFirstRollout(
  policy: Shape["policy"],
  { rounds, call, lost }: { readonly rounds: number; readonly call: number; readonly lost?: number },
) {
  const world = createWorld({
    type: "EnforcedRollingUpdate",
    policy,
    permanentOnly: false,
    rollingUpdate: undefined,
  });
  const takeAll = async (steps: readonly Step[]) => {
    for (const step of steps) await world.take(step);
  };
  await world.take({ kind: "rounds", count: rounds });
  await world.take({ kind: "reconcile", crashAtCall: call, restartLag: noLag });
  const isFinished = [0, 1, 2].every((ordinal) => world.api.get("pods", key(ordinal)));
  await takeAll([0, 1, 2].map((ordinal) => ({ kind: "node", ordinal, does: "start" })));
  if (lost !== undefined) await takeAll(lose(lost));
  world.change(({ spec }) => {
    Object.assign(spec ?? {}, { replicas: 5 });
    setImage(spec, broken);
  });
  await world.take({ kind: "restart", lag: noLag });
  await world.settle();
  return {
    isFinished,
    async loseLater(ordinal: number) {
      await takeAll(lose(ordinal));
      await world.settle();
    },
    image: (ordinal: number) => imageOf(world.api.get("pods", key(ordinal))),
  };
}

/** Every call of every sync in a first rollout of three pods, and the time after it. */
const points = [0, 1, 2, 3].flatMap((rounds) =>
  Array.from({ length: 16 }, (_, index) => ({ rounds, call: index + 1 })),
);

describe("3541-10 a controller that is killed in the first rollout", () => {
  test.each([0, 1])(
    "decides the revision of web-%d, lost meanwhile, by the pods that were Ready",
    async (lost) => {
      const seen = new Set<boolean>();
      for (const point of points) {
        const { isFinished, image } = await killFirstRollout("OrderedReady", { ...point, lost });
        seen.add(isFinished);
        expect({ ...point, image: image(lost) }).toEqual({ ...point, image: isFinished ? "good:1" : broken });
      }
      expect(seen.size).toBe(2);
    },
  );

  test.each(["OrderedReady", "Parallel"] as const)(
    "recognizes a finished first rollout for pods that are lost later, with %s",
    async (policy) => {
      const seen = new Set<boolean>();
      for (const point of points) {
        const { isFinished, image, loseLater } = await killFirstRollout(policy, point);
        seen.add(isFinished);
        for (const ordinal of [0, 1]) {
          await loseLater(ordinal);
          expect({ ...point, image: image(ordinal) }).toEqual({
            ...point,
            image: isFinished ? "good:1" : broken,
          });
        }
      }
      expect(seen.size).toBe(2);
    },
  );
});

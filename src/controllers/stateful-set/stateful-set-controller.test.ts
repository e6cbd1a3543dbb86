import { expect, test } from "vitest";
import { defaultFeatures } from "../../api/feature-gates.ts";
import { createSimulatedApi } from "./simulated-api.fixture.ts";
import { makeSet } from "./stateful-set.fixture.ts";
import { statefulSetController } from "./stateful-set-controller.ts";

const key = "default/web";
const { signal } = new AbortController();

/** A set without pods, and a clock on which each look at the time takes some. */
function start({ takesMs }: { takesMs: number }) {
  const api = createSimulatedApi();
  api.put("statefulsets", makeSet({ replicas: 0 }));
  const views = api.openViews(() => 0);
  let now = Date.parse("2026-01-01T00:00:00Z");
  const time = {
    now() {
      now += takesMs;
      return now;
    },
    sleep: () => new Promise<never>(() => {}),
  };
  const controller = statefulSetController(
    {
      client: api.client(() => {}),
      clock: time,
      features: defaultFeatures,
      informers: views.informers,
      recorder: () => ({ record() {} }),
    },
    signal,
  );
  return {
    async look() {
      const before = api.writes.length;
      const answer = await controller.reconcile(key);
      for (const kind of ["statefulsets", "controllerrevisions"] as const) views.deliver(kind, 10);
      return { answer, writes: api.writes.slice(before) };
    },
    scale: () =>
      api.put("statefulsets", {
        ...makeSet({ replicas: 1 }),
        metadata: api.get("statefulsets", key)?.metadata ?? {},
      }),
    hear: () => views.deliver("statefulsets", 10),
    wait: (ms: number) => {
      now += ms;
    },
  };
}

test("a set whose pods take long to look at rests for a while, and is then looked at", async () => {
  const { look, scale, hear, wait } = start({ takesMs: 10 });
  expect((await look()).writes).toContain("update statefulsets default/web");
  scale();
  hear();
  const resting = await look();
  expect(resting.writes).toEqual([]);
  expect(resting.answer?.againAfterMs).toBeGreaterThan(0);
  wait(resting.answer?.againAfterMs ?? 0);
  expect((await look()).writes).toContain("create pods default/web-0");
});

test("one that takes no time is looked at right away", async () => {
  const { look, scale, hear } = start({ takesMs: 0 });
  await look();
  scale();
  hear();
  expect((await look()).writes).toContain("create pods default/web-0");
});

test("a clock that was set back keeps nobody resting", async () => {
  const { look, scale, hear, wait } = start({ takesMs: 10 });
  await look();
  scale();
  hear();
  wait(-3_600_000);
  expect((await look()).writes).toContain("create pods default/web-0");
});

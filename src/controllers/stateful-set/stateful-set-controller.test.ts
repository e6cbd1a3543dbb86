import { expect, test } from "vitest";
import { defaultFeatures } from "../../api/meta/feature-gates.ts";
import { createSimulatedApi } from "../shared/simulated-api.fixture.ts";
import { makeSet } from "./stateful-set.fixture.ts";
import { statefulSetController, unsupportedStrategy } from "./stateful-set-controller.ts";

const key = "default/web";
const { signal } = new AbortController();

/** A set without pods, and a clock that advances with each reading. */
function start({ takesMs, annotations }: { takesMs: number; annotations?: Record<string, string> }) {
  const api = createSimulatedApi();
  const events: string[] = [];
  api.put("statefulsets", makeSet({ replicas: 0, annotations }));
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
      recorder: () => ({
        record: (_, { type, reason, message }) => events.push(`${type} ${reason} ${message}`),
      }),
    },
    signal,
  );
  return {
    events,
    annotate(annotations: Record<string, string>) {
      const set = api.get("statefulsets", key) ?? makeSet();
      api.put("statefulsets", { ...set, metadata: { ...set.metadata, annotations } });
      views.deliver("statefulsets", 10);
    },
    async sync() {
      const before = api.writes.length;
      const result = await controller.reconcile(key);
      for (const kind of ["statefulsets", "controllerrevisions"] as const) views.deliver(kind, 10);
      return { result, writes: api.writes.slice(before) };
    },
    scale: () =>
      api.put("statefulsets", {
        ...makeSet({ replicas: 1 }),
        metadata: api.get("statefulsets", key)?.metadata ?? {},
      }),
    deliver: () => views.deliver("statefulsets", 10),
    wait: (ms: number) => {
      now += ms;
    },
  };
}

test("throttles a set whose decision takes long, and reconciles it later", async () => {
  const { sync, scale, deliver, wait } = start({ takesMs: 10 });
  expect((await sync()).writes).toContain("update statefulsets default/web");
  scale();
  deliver();
  const throttled = await sync();
  expect(throttled.writes).toEqual([]);
  expect(throttled.result?.requeueAfterMs).toBeGreaterThan(0);
  wait(throttled.result?.requeueAfterMs ?? 0);
  expect((await sync()).writes).toContain("create pods default/web-0");
});

test("reconciles a set without delay if its decision takes no time", async () => {
  const { sync, scale, deliver } = start({ takesMs: 0 });
  await sync();
  scale();
  deliver();
  expect((await sync()).writes).toContain("create pods default/web-0");
});

test("does not throttle after the clock was set back", async () => {
  const { sync, scale, deliver, wait } = start({ takesMs: 10 });
  await sync();
  scale();
  deliver();
  wait(-3_600_000);
  expect((await sync()).writes).toContain("create pods default/web-0");
});

test("records one event for each invalid value of an annotation", async () => {
  const { sync, annotate, events } = start({
    takesMs: 0,
    annotations: { "kindling.dev/unstick": "sometimes" },
  });
  await sync();
  await sync();
  const unknown = (value: string) =>
    `Warning InvalidUnstickPolicy annotation kindling.dev/unstick has the unknown value "${value}" and is treated as never; use one of always, permanent-only, never`;
  expect(events).toEqual([unknown("sometimes")]);
  annotate({ "kindling.dev/unstick": "rarely", "kindling.dev/progress-deadline-seconds": "10m" });
  await sync();
  await sync();
  expect(events).toEqual([
    unknown("sometimes"),
    unknown("rarely"),
    'Warning InvalidProgressDeadline annotation kindling.dev/progress-deadline-seconds must be a whole number of seconds from 1 to 2147483647, not "10m"; the default of 600 s applies',
  ]);
  annotate({ "kindling.dev/unstick": "never" });
  await sync();
  expect(events).toHaveLength(3);
});

test.each([
  ["RollingUpdate", false, undefined],
  ["OnDelete", false, undefined],
  ["EnforcedRollingUpdate", true, undefined],
  ["EnforcedRollingUpdate", false, /feature gate EnforcedRollingUpdateInStatefulSet is disabled$/],
  ["Recreate", true, undefined],
  ["Recreate", false, /uses Recreate strategy but feature gate StatefulSetRecreateStrategy is disabled$/],
  ["Blue", true, /does not know$/],
])("3541-9 %s with the gates %s", (type, enabled, expected) => {
  const features = {
    ...defaultFeatures,
    EnforcedRollingUpdateInStatefulSet: enabled,
    StatefulSetRecreateStrategy: enabled,
  };
  const message = unsupportedStrategy(makeSet({ type }), features);
  if (expected) expect(message).toMatch(expected);
  else expect(message).toBeUndefined();
});

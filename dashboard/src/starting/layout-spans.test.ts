import { expect, test } from "vitest";
import { layoutSpans, sharedAxisMs } from "./layout-spans.ts";

const createdMs = 1_000;
const span = (name: string, startMs: number, endMs?: number) => ({ name, startMs, endMs });

function drawn(spans: readonly ReturnType<typeof span>[], now: number): readonly string[] {
  return layoutSpans({ spans, createdMs }, { now, axisMs: 10_000 }).map(
    ({ tone, left, width, ms, isOpen }) => `${tone} ${left}+${width} ${ms} ms${isOpen ? " open" : ""}`,
  );
}

test("places spans in sequence and extends the last one to now", () => {
  const spans = [span("scheduling", 1_000, 2_000), span("volumes and sandbox", 2_000)];
  expect(drawn(spans, 4_000)).toEqual(["scheduling 0+0.1 1000 ms", "sandbox 0.1+0.2 2000 ms open"]);
});

test.each([
  {
    name: "a span longer than the axis",
    spans: [span("init a", 1_000)],
    now: 21_000,
    bars: ["init 0+1 20000 ms open"],
  },
  {
    name: "an end in the future ends now",
    spans: [span("until ready", 2_000, 9_000)],
    now: 3_000,
    bars: ["readiness 0.1+0.1 1000 ms"],
  },
  {
    name: "a start before the pod's",
    spans: [span("scheduling", 0, 2_000)],
    now: 3_000,
    bars: ["scheduling 0+0.1 1000 ms"],
  },
  {
    name: "a start in the future",
    spans: [span("scheduling", 9_000)],
    now: 3_000,
    bars: ["scheduling 0.2+0 0 ms open"],
  },
  {
    name: "a pull, and what follows it",
    spans: [span("pull web:1", 1_000, 2_000), span("containers", 2_000)],
    now: 3_000,
    bars: ["pull 0+0.1 1000 ms", "containers 0.1+0.1 1000 ms open"],
  },
  { name: "no spans", spans: [], now: 3_000, bars: [] },
  {
    name: "an unknown name",
    spans: [span("<b>", 1_000, 2_000)],
    now: 3_000,
    bars: ["containers 0+0.1 1000 ms"],
  },
])("$name", ({ spans, now, bars }) => {
  expect(drawn(spans, now)).toEqual(bars);
});

test("ignores stuck pods and slow outliers for the axis", () => {
  const pods = (isTransient: boolean, ...seconds: readonly number[]) =>
    seconds.map((each) => ({ createdMs: -each * 1_000, isTransient }));
  expect(sharedAxisMs([], 0)).toBe(1_000);
  expect(sharedAxisMs(pods(true, 7), 0)).toBe(10_000);
  expect(sharedAxisMs([...pods(false, 9_999), ...pods(true, 9_999, 1, 2, 3, 4, 5, 6, 7, 8, 9)], 0)).toBe(
    10_000,
  );
  expect(sharedAxisMs(pods(false, 70), 0)).toBe(120_000);
});

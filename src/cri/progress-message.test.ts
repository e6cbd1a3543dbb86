import fc from "fast-check";
import { expect, test } from "vitest";
import {
  PullImageWithProgressRequest_GranularityType as Granularity,
  ImageServiceService,
  type LayerProgress,
  PullImageWithProgressRequest,
  PullImageWithProgressResponse,
} from "./generated/cri.ts";
import {
  createProgressMessages,
  meterBySize,
  parseProgress,
  type ReportGranularity,
  requestedGranularity,
  serializeProgress,
  withDefaults,
} from "./progress-message.ts";

const layers = [{ digest: "sha256:aa", offset: 1, total: 4, stage: "downloading" }] as const;
const report = { offset: 1, total: 4, layers } as const;

test("3542-3 verbose messages have each layer with its stage; others do not", () => {
  expect(createProgressMessages({ verbose: true })(report, "busybox")).toEqual({
    imageRef: "busybox",
    offset: { value: 1n },
    total: { value: 4n },
    details: [{ layer: "sha256:aa", offset: { value: 1n }, total: { value: 4n }, stage: "downloading" }],
  });
  expect(createProgressMessages({ verbose: false })(report, "busybox").details).toEqual([]);
});

test("parses messages back to the same progress, and absent values to 0", () => {
  expect(parseProgress(createProgressMessages({ verbose: true })(report, "busybox"))).toEqual(report);
  const empty = PullImageWithProgressResponse.fromPartial({ details: [{ layer: "sha256:aa" }] });
  expect(parseProgress(empty)).toEqual({
    offset: 0,
    total: 0,
    layers: [{ digest: "sha256:aa", offset: 0, total: 0, stage: "" }],
  });
});

test("keeps the message of a layer without change", () => {
  const toMessage = createProgressMessages({ verbose: true });
  const [still, moving] = [layers[0], { ...layers[0], digest: "sha256:bb" }];
  const first = toMessage({ ...report, layers: [still, moving] }, "busybox").details;
  const second = toMessage({ ...report, layers: [still, { ...moving, offset: 2 }] }, "busybox").details;
  expect(second[0]).toBe(first[0]);
  expect(second[1]).toEqual({ ...first[1], offset: { value: 2n } });
});

// Both ends of the generated code agree on any numbers: these are the ones that other implementations must use.
test("3542-1 uses the field numbers of the proposal", () => {
  const request = PullImageWithProgressRequest.encode(
    PullImageWithProgressRequest.fromPartial({
      request: { image: { image: "a" }, noProgressTimeout: { value: 7 } },
      granularityType: Granularity.TIME,
      interval: { value: 30n },
      noProgressTimeout: { value: 9 },
      verbosity: true,
    }),
  ).finish();
  // A field starts with 8 times its number, plus 2 where its length follows.
  const image = [0x0a, 3, 0x0a, 1, "a".charCodeAt(0)];
  expect([...request]).toEqual([
    ...[0x0a, 9, ...image, 0x22, 2, 0x08, 7],
    ...[0x10, 1],
    ...[0x1a, 2, 0x08, 30],
    ...[0x22, 2, 0x08, 9],
    ...[0x28, 1],
  ]);
  const layer = { layer: "l", offset: { value: 1n }, total: { value: 2n }, stage: "s" };
  const response = PullImageWithProgressResponse.encode(
    PullImageWithProgressResponse.fromPartial({
      imageRef: "r",
      offset: { value: 3n },
      total: { value: 4n },
      details: [layer],
    }),
  ).finish();
  const details = [
    ...[0x0a, 1, "l".charCodeAt(0)],
    ...[0x12, 2, 0x08, 1, 0x1a, 2, 0x08, 2],
    ...[0x22, 1, "s".charCodeAt(0)],
  ];
  expect([...response]).toEqual([
    ...[0x0a, 1, "r".charCodeAt(0)],
    ...[0x12, 2, 0x08, 3, 0x1a, 2, 0x08, 4],
    ...[0x22, details.length, ...details],
  ]);
  expect([Granularity.SIZE, Granularity.TIME, Granularity.NONE]).toEqual([0, 1, 2]);
  expect(ImageServiceService.pullImageWithProgress.path).toBe(
    "/runtime.v1.ImageService/PullImageWithProgress",
  );
});

const generated = (report: PullImageWithProgressResponse) =>
  Buffer.from(PullImageWithProgressResponse.encode(report).finish());

const anyValue = fc.option(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((number) => ({ value: number })),
  { nil: undefined },
);
const anyLayer: fc.Arbitrary<LayerProgress> = fc.record({
  layer: fc.string({ unit: "grapheme", maxLength: 200 }),
  offset: anyValue,
  total: anyValue,
  stage: fc.constantFrom("", "waiting", "downloading", "done"),
});
const anyReport: fc.Arbitrary<PullImageWithProgressResponse> = fc.record({
  imageRef: fc.string({ unit: "grapheme", maxLength: 300 }),
  offset: anyValue,
  total: anyValue,
  details: fc.array(anyLayer, { maxLength: 5 }),
});

test("3542-1 encodes a report like the generated code", () => {
  fc.assert(fc.property(anyReport, (each) => serializeProgress(each).equals(generated(each))));
});

test("3542-3 encodes an unchanged layer beside a changed one like the generated code", () => {
  const details = ["a", "b"].map((name) => ({
    layer: `sha256:${name}`,
    offset: { value: 1n },
    total: { value: 9n },
    stage: "downloading",
  }));
  const first = { imageRef: "busybox", offset: { value: 2n }, total: { value: 18n }, details };
  const still = details.slice(0, 1);
  const second = {
    ...first,
    offset: { value: 10n },
    details: [
      ...still,
      ...details.slice(1).map((each) => ({ ...each, offset: { value: 9n }, stage: "done" })),
    ],
  };
  for (const each of [first, second, first]) expect(serializeProgress(each)).toEqual(generated(each));
});

const time: ReportGranularity = { kind: "time", intervalMs: 1_000 };
const reported = { offset: 50, allowance: 3, atMs: 1_000 };

test.each([
  [
    "no report below the interval",
    reported,
    { offset: 149, now: 99_999 },
    { kind: "quiet", meter: reported },
  ],
  [
    "a report at the interval",
    reported,
    { offset: 150, now: 1_000 },
    { kind: "report", meter: { offset: 150, allowance: 2, atMs: 1_000 } },
  ],
  [
    "no report after a restarted download",
    reported,
    { offset: 20, now: 1_000 },
    { kind: "quiet", meter: { ...reported, offset: 20 } },
  ],
  [
    "a postponed report above the rate limit",
    { ...reported, allowance: 0.5 },
    { offset: 500, now: 1_000 },
    { kind: "postpone", waitMs: 13 },
  ],
  [
    "a report after the delay",
    { ...reported, allowance: 0.5 },
    { offset: 600, now: 1_025 },
    { kind: "report", meter: { offset: 600, allowance: 0.5, atMs: 1_025 } },
  ],
  [
    "a full allowance after a long time",
    { ...reported, allowance: 0 },
    { offset: 600, now: 9e9 },
    { kind: "report", meter: { offset: 600, allowance: 31, atMs: 9e9 } },
  ],
] as const)("3542-2 size: %s", (_name, meter, current, expected) => {
  expect(meterBySize(meter, { intervalBytes: 100, ...current })).toEqual(expected);
});

test.each([
  [
    { kind: "time", intervalMs: 0 },
    { kind: "time", intervalMs: 60_000 },
  ],
  [
    { kind: "size", intervalBytes: 0 },
    { kind: "size", intervalBytes: 2 ** 30 },
  ],
  [time, time],
  [{ kind: "none" }, { kind: "none" }],
] as const)("3542-2 %j means %j", (asked, meant) => {
  expect(withDefaults(asked)).toEqual(meant);
});

test.each([
  [0, 5n, { kind: "size", intervalBytes: 5 }],
  [0, undefined, { kind: "size", intervalBytes: 2 ** 30 }],
  [1, 5n, { kind: "time", intervalMs: 5_000 }],
  [1, 0n, { kind: "time", intervalMs: 60_000 }],
  [2, 5n, { kind: "none" }],
])("3542-2 a request of type %i with interval %s", (type, value, expected) => {
  const granularityType = type as 0 | 1 | 2;
  const interval = value === undefined ? undefined : { value };
  expect(requestedGranularity({ granularityType, interval })).toEqual(expected);
});

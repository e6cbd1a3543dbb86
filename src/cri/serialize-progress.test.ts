import fc from "fast-check";
import { expect, test } from "vitest";
import { type LayerProgress, PullImageWithProgressResponse } from "./generated/cri.ts";
import { serializeProgress } from "./serialize-progress.ts";

const generated = (report: PullImageWithProgressResponse) =>
  Buffer.from(PullImageWithProgressResponse.encode(report).finish());

const value = fc.option(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((number) => ({ value: number })),
  { nil: undefined },
);
const layer: fc.Arbitrary<LayerProgress> = fc.record({
  layer: fc.string({ unit: "grapheme", maxLength: 200 }),
  offset: value,
  total: value,
  stage: fc.constantFrom("", "waiting", "downloading", "done"),
});
const report: fc.Arbitrary<PullImageWithProgressResponse> = fc.record({
  imageRef: fc.string({ unit: "grapheme", maxLength: 300 }),
  offset: value,
  total: value,
  details: fc.array(layer, { maxLength: 5 }),
});

test("3542-1 a report's bytes are those of the generated code", () => {
  fc.assert(fc.property(report, (each) => serializeProgress(each).equals(generated(each))));
});

test("3542-3 also when it tells of a layer for the second time, beside one that went on", () => {
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

import { expect, test } from "vitest";
import { PullImageRequest, PullImageWithProgressRequest } from "../../cri/generated/cri.ts";
import { parsePull, parsePullWithProgress } from "./pull-request.ts";

const image = { image: "busybox" };
const parse = (options: Parameters<typeof PullImageWithProgressRequest.fromPartial>[0]) =>
  parsePullWithProgress(PullImageWithProgressRequest.fromPartial({ request: { image }, ...options }));

test.each([
  [{ granularityType: 0 }, { kind: "size", intervalBytes: 1_024 ** 3 }],
  [
    { granularityType: 0, interval: { value: 5n } },
    { kind: "size", intervalBytes: 5 },
  ],
  [{ granularityType: 1 }, { kind: "time", intervalMs: 60_000 }],
  [
    { granularityType: 1, interval: { value: 0n } },
    { kind: "time", intervalMs: 60_000 },
  ],
  [
    { granularityType: 1, interval: { value: 2n } },
    { kind: "time", intervalMs: 2_000 },
  ],
  [{ granularityType: 2, interval: { value: 2n } }, { kind: "none" }],
] as const)("3542-2 %o", (options, granularity) => {
  expect(parse(options).granularity).toEqual(granularity);
});

test("3542-4 the timeout of the new call wins over that of the request in it", () => {
  const request = { image, noProgressTimeout: { value: 5 } };
  expect(parse({ request }).noProgressTimeoutMs).toBe(5_000);
  expect(parse({ request, noProgressTimeout: { value: 0 } }).noProgressTimeoutMs).toBe(0);
});

test("a plain pull has no reports, and needs an image", () => {
  expect(parsePull(PullImageRequest.fromPartial({ image })).granularity).toEqual({ kind: "none" });
  expect(() => parsePull(PullImageRequest.fromPartial({}))).toThrow("image.image is missing");
});

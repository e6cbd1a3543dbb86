import { expect, test } from "vitest";
import {
  PullImageWithProgressRequest_GranularityType as Granularity,
  ImageServiceService,
  PullImageWithProgressRequest,
  PullImageWithProgressResponse,
} from "../../cri/generated/cri.ts";
import { createProgressMessages } from "./pull-image-with-progress.ts";

const layers = [{ digest: "sha256:aa", offset: 1, total: 4, stage: "downloading" }] as const;
const report = { kind: "progress", offset: 1, total: 4, layers } as const;

test("3542-3 verbose names each layer with its stage; a summary does not", () => {
  expect(createProgressMessages({ reference: "busybox", verbose: true })(report)).toEqual({
    imageRef: "busybox",
    offset: { value: 1n },
    total: { value: 4n },
    details: [{ layer: "sha256:aa", offset: { value: 1n }, total: { value: 4n }, stage: "downloading" }],
  });
  expect(createProgressMessages({ reference: "busybox", verbose: false })(report).details).toEqual([]);
});

test("a layer that stands still keeps its message, one that went on gets another", () => {
  const toMessage = createProgressMessages({ reference: "busybox", verbose: true });
  const [still, moving] = [layers[0], { ...layers[0], digest: "sha256:bb" }];
  const first = toMessage({ ...report, layers: [still, moving] }).details;
  const second = toMessage({ ...report, layers: [still, { ...moving, offset: 2 }] }).details;
  expect(second[0]).toBe(first[0]);
  expect(second[1]).toEqual({ ...first[1], offset: { value: 2n } });
});

// Two ends of the same generated code agree on any numbers: these are what others would have to write.
test("3542-1 field numbers on the wire", () => {
  const request = PullImageWithProgressRequest.encode(
    PullImageWithProgressRequest.fromPartial({
      request: { image: { image: "a" }, noProgressTimeout: { value: 7 } },
      granularityType: Granularity.TIME,
      interval: { value: 30n },
      noProgressTimeout: { value: 9 },
      verbosity: true,
    }),
  ).finish();
  // Each field begins with 8 times its number, and 2 more where its length follows.
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

import { expect, test } from "vitest";
import { PullImageRequest, PullImageWithProgressRequest } from "../../../cri/generated/cri.ts";
import { imageInfo, parsePull, parsePullWithProgress } from "./image-calls.ts";

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

test("3542-4 the timeout of the call overrides that of the request in it", () => {
  const request = { image, noProgressTimeout: { value: 5 } };
  expect(parse({ request }).noProgressTimeoutMs).toBe(5_000);
  expect(parse({ request, noProgressTimeout: { value: 0 } }).noProgressTimeoutMs).toBe(0);
});

test("parses a plain pull without reports and rejects one without an image", () => {
  expect(parsePull(PullImageRequest.fromPartial({ image })).granularity).toEqual({ kind: "none" });
  expect(() => parsePull(PullImageRequest.fromPartial({}))).toThrow("image.image is missing");
});

const stored = { id: "sha256:a", repoTags: [], repoDigests: [], size: 1, pinned: false };
const config = {
  user: "",
  env: ["PATH=/bin"],
  entrypoint: [],
  command: ["sh", "-c", "date"],
  workingDir: "",
  labels: { a: "b" },
  volumes: [],
  exposedPorts: ["80/tcp"],
};

test("imageInfo uses OCI's names and omits what the image does not specify", () => {
  const { info } = imageInfo({ ...stored, config });
  expect(JSON.parse(info)).toEqual({
    imageSpec: {
      config: {
        ExposedPorts: { "80/tcp": {} },
        Env: ["PATH=/bin"],
        Cmd: ["sh", "-c", "date"],
        Labels: { a: "b" },
      },
    },
  });
});

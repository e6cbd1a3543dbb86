import { expect, test } from "vitest";
import { progressMessage } from "./pull-image-with-progress.ts";

const layers = [{ digest: "sha256:aa", offset: 1, total: 4, stage: "downloading" }] as const;
const report = { kind: "progress", offset: 1, total: 4, layers } as const;

test("3542-3 verbose names each layer with its stage; a summary does not", () => {
  expect(progressMessage(report, { reference: "busybox", verbose: true })).toEqual({
    imageRef: "busybox",
    offset: { value: 1n },
    total: { value: 4n },
    details: [{ layer: "sha256:aa", offset: { value: 1n }, total: { value: 4n }, stage: "downloading" }],
  });
  expect(progressMessage(report, { reference: "busybox", verbose: false }).details).toEqual([]);
});

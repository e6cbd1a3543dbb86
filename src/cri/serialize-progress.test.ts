import { expect, test } from "vitest";
import { type LayerProgress, PullImageWithProgressResponse } from "./generated/cri.ts";
import { serializeProgress } from "./serialize-progress.ts";

function layer(name: string, offset: bigint, stage: string): LayerProgress {
  return { layer: name, offset: { value: offset }, total: { value: 9n }, stage };
}

test("3542-3 a report is the bytes of the generated code, also when it tells of a layer for the second time", () => {
  const [still, before, after] = [layer("a", 9n, "done"), layer("b", 1n, "downloading"), layer("b", 9n, "")];
  const reports: PullImageWithProgressResponse[] = [
    { imageRef: "busybox", offset: { value: 10n }, total: { value: 2n ** 40n }, details: [still, before] },
    { imageRef: "busybox", offset: { value: 18n }, total: { value: 18n }, details: [still, after] },
    { imageRef: "", offset: undefined, total: { value: 0n }, details: [] },
  ];
  for (const report of [...reports, ...reports]) {
    const bytes = serializeProgress(report);
    expect(bytes).toEqual(Buffer.from(PullImageWithProgressResponse.encode(report).finish()));
    expect(PullImageWithProgressResponse.decode(bytes)).toEqual(report);
  }
});

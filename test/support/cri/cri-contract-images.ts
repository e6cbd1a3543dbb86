import { status as codes } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import {
  PullImageWithProgressRequest_GranularityType as Granularity,
  ImageSpec,
  PullImageRequest,
  PullImageWithProgressRequest,
  type PullImageWithProgressResponse,
} from "../../../src/cri/generated/cri.ts";
import type { Client } from "./cri-contract-pod.ts";

export interface ContractImages {
  /** Comes within some seconds, in pieces. */
  readonly slowImage: string;
  /** Stops coming after a while. */
  readonly stallingImage: string;
}

export function imageSuite(client: Client, images: () => ContractImages): void {
  const spec = (image: string) => ImageSpec.fromPartial({ image });
  const find = async (image: string) =>
    (await client().images.imageStatus({ image: spec(image), verbose: false })).image;

  type PullOptions = Omit<Parameters<typeof PullImageWithProgressRequest.fromPartial>[0], "request">;
  async function* follow(image: string, options: PullOptions, signal?: AbortSignal) {
    const request = PullImageWithProgressRequest.fromPartial({ ...options, request: { image: spec(image) } });
    yield* client().images.pullImageWithProgress(request, { signal });
  }
  async function pull(image: string, options: PullOptions) {
    const responses: PullImageWithProgressResponse[] = [];
    for await (const response of follow(image, options)) responses.push(response);
    return responses;
  }
  const bySize = { granularityType: Granularity.SIZE, interval: { value: 50n * 1_024n } };

  test("3542 pull with progress, then found, listed, pulled again, removed", async () => {
    const { slowImage } = images();
    expect(await find(slowImage)).toBeUndefined();
    const responses = await pull(slowImage, { ...bySize, verbosity: true });
    const offsets = responses.map(({ offset }) => Number(offset?.value));
    expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
    expect(responses.length).toBeGreaterThan(3);
    expect(responses[0]?.imageRef).toBe(slowImage);
    const stages = new Set(responses.flatMap(({ details }) => details.map(({ stage }) => stage)));
    expect(stages).toContain("downloading");
    const last = responses.at(-1);
    expect(last?.offset).toEqual(last?.total);
    expect(last?.details.every(({ stage }) => stage === "done")).toBe(true);

    const image = await find(slowImage);
    expect(image?.id).toBe(last?.imageRef);
    expect(image?.repoTags).toEqual([slowImage]);
    expect(image?.size).toBeGreaterThan(0n);
    expect((await find(image?.id ?? ""))?.id).toBe(image?.id);
    const listed = await client().images.listImages({ filter: { image: spec(slowImage) } });
    expect(listed.images.map(({ id }) => id)).toEqual([image?.id]);
    const again = PullImageRequest.fromPartial({ image: spec(slowImage) });
    expect((await client().images.pullImage(again)).imageRef).toBe(image?.id);
    const { imageFilesystems } = await client().images.imageFsInfo({});
    expect(imageFilesystems[0]?.usedBytes?.value).toBeGreaterThan(0n);

    for (let i = 0; i < 2; i++) await client().images.removeImage({ image: spec(slowImage) });
    expect(await find(slowImage)).toBeUndefined();
  });

  test("3542-2, 3542-3 granularity none: the last message only, without details", async () => {
    const { slowImage } = images();
    const responses = await pull(slowImage, { granularityType: Granularity.NONE });
    expect(responses).toHaveLength(1);
    expect(responses[0]?.details).toEqual([]);
    await client().images.removeImage({ image: spec(slowImage) });
  });

  test("a pull that is given up leaves no image", async () => {
    // A pull that never completes.
    const { stallingImage } = images();
    const leaving = new AbortController();
    const pulling = (async () => {
      for await (const _begun of follow(stallingImage, bySize, leaving.signal))
        leaving.abort(new Error("no longer needed"));
    })();
    await expect(pulling).rejects.toThrow("no longer needed");
    expect(await find(stallingImage)).toBeUndefined();
  });

  test("3542-4 a stall fails with its reason, in both calls", async () => {
    const { stallingImage } = images();
    const noProgressTimeout = { value: 1 };
    const stalled = { code: codes.DEADLINE_EXCEEDED, details: expect.stringMatching(/no progress/) };
    await expect(
      pull(stallingImage, { granularityType: Granularity.NONE, noProgressTimeout }),
    ).rejects.toMatchObject(stalled);
    const plain = PullImageRequest.fromPartial({ image: spec(stallingImage), noProgressTimeout });
    await expect(client().images.pullImage(plain)).rejects.toMatchObject(stalled);
    expect(await find(stallingImage)).toBeUndefined();
  });

  test("what makes no sense is refused", async () => {
    const invalid = { code: codes.INVALID_ARGUMENT };
    const bad = PullImageRequest.fromPartial({ image: spec("Not An Image") });
    await expect(client().images.pullImage(bad)).rejects.toMatchObject(invalid);
    await expect(client().images.pullImage(PullImageRequest.fromPartial({}))).rejects.toMatchObject(invalid);
    expect(await find("Not An Image")).toBeUndefined();
  });
}

import { status as codes } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import {
  AuthConfig,
  PullImageWithProgressRequest_GranularityType as Granularity,
  ImageSpec,
  PullImageRequest,
  PullImageWithProgressRequest,
  type PullImageWithProgressResponse,
} from "../../src/cri/generated/cri.ts";
import type { PullScript } from "../../src/simulated/scripts/scripts.ts";
import { failsAfter, scripted, settled, startNode, type TestNode } from "./node.ts";

const mib = 2 ** 20;
const image = ImageSpec.fromPartial({ image: "web:1" });
const withPull = (pull: PullScript) => startNode({ script: [{ match: { image: "web:*" }, pull }] });

function pull({ client }: TestNode, options: Parameters<typeof PullImageRequest.fromPartial>[0] = {}) {
  return client.images.pullImage(PullImageRequest.fromPartial({ image, ...options }), {
    timeoutMs: 3_600_000,
  });
}

/** Reads what comes, with the moment at which it does. */
function follow(
  { client, clock }: TestNode,
  options: Parameters<typeof PullImageWithProgressRequest.fromPartial>[0],
) {
  const began = clock.now();
  const request = PullImageWithProgressRequest.fromPartial({ request: { image }, ...options });
  const responses: (PullImageWithProgressResponse & { atMs: number })[] = [];
  const done = (async () => {
    for await (const response of client.images.pullImageWithProgress(request))
      responses.push({ ...response, atMs: clock.now() - began });
  })();
  return { responses, done };
}

const offsets = (responses: readonly (PullImageWithProgressResponse & { atMs: number })[]) =>
  responses.map(({ atMs, offset }) => [atMs, Number(offset?.value) / mib]);

const present = async ({ client }: TestNode) =>
  (await client.images.imageStatus({ image, verbose: false })).image !== undefined;

describe("progress", () => {
  const script = { sizeBytes: 100 * mib, bytesPerSecond: 10 * mib, layers: 2, delayMs: 1_000, unpackMs: 500 };

  test("3542-2 by time: each interval, at the size it then has", async () => {
    const node = await withPull(script);
    const { responses, done } = follow(node, { granularityType: Granularity.TIME, interval: { value: 4n } });
    await node.clock.advance(20_000);
    await done;
    expect(offsets(responses)).toEqual([
      [4_000, 30],
      [8_000, 70],
      [11_500, 100],
    ]);
    expect(responses.at(-1)?.imageRef).toMatch(/^sha256:/);
  });

  test("3542-2 by size: each interval, when it is there", async () => {
    const node = await withPull(script);
    const interval = { value: BigInt(40 * mib) };
    const { responses, done } = follow(node, { granularityType: Granularity.SIZE, interval });
    await node.clock.advance(20_000);
    await done;
    expect(offsets(responses)).toEqual([
      [5_000, 40],
      [9_000, 80],
      [11_500, 100],
    ]);
  });

  test("3542-3 verbose: each layer with its stage", async () => {
    const node = await withPull(script);
    const granularityType = Granularity.TIME;
    const { responses, done } = follow(node, { granularityType, interval: { value: 11n }, verbosity: true });
    await node.clock.advance(20_000);
    await done;
    const stages = responses.map(({ details }) => details.map(({ stage }) => stage));
    expect(stages).toEqual([
      ["unpacking", "unpacking"],
      ["done", "done"],
    ]);
  });

  test("a caller that joins gets the remaining reports", async () => {
    const node = await withPull(script);
    const first = pull(node);
    await node.clock.advance(6_000);
    const second = pull(node);
    await node.clock.advance(5_499);
    expect([await settled(first), await settled(second)]).toEqual([false, false]);
    await node.clock.advance(1);
    expect(await second).toEqual(await first);
  });

  test("3542-9 layers that are present are not pulled again", async () => {
    const node = await withPull(script);
    const first = pull(node);
    await node.clock.advance(11_500);
    await first;
    const { responses, done } = follow(node, { granularityType: Granularity.NONE, verbosity: true });
    await node.clock.advance(1_000);
    await done;
    expect(responses).toMatchObject([
      { total: { value: 0n }, details: [{ stage: "exists" }, { stage: "exists" }] },
    ]);
  });
});

describe("failures", () => {
  test("3542-4 a stalled pull fails after the timeout; a later attempt continues when the rule is removed", async () => {
    const node = await startNode();
    const stall = { sizeBytes: 10 * mib, bytesPerSecond: mib, stallAtByte: 3 * mib };
    const fault = node.simulated.rules.add({ match: { image: "web:1" }, pull: stall });
    const patient = pull(node);
    const call = pull(node, { noProgressTimeout: { value: 10 } });
    await failsAfter(node.clock, { ms: 13_000, call, error: { code: codes.DEADLINE_EXCEEDED } });
    node.simulated.rules.remove(fault);
    await pull(node);
    expect(await settled(patient)).toBe(false);
    expect(await present(node)).toBe(true);
  });

  test.each([
    ["notFound", codes.NOT_FOUND, /not found/],
    ["unauthorized", codes.UNAUTHENTICATED, /unauthorized/],
    ["unavailable", codes.UNAVAILABLE, /does not answer/],
  ] as const)("%s", async (kind, code, details) => {
    const node = await withPull({ failure: { kind } });
    await expect(pull(node)).rejects.toMatchObject({ code, details: expect.stringMatching(details) });
    expect(await present(node)).toBe(false);
  });

  test("during the pull, with its own message", async () => {
    const failure = { kind: "unavailable", message: "connection reset", atByte: 5 * mib } as const;
    const node = await withPull({ sizeBytes: 10 * mib, bytesPerSecond: mib, failure });
    await failsAfter(node.clock, { ms: 5_000, call: pull(node), error: { details: "connection reset" } });
  });

  test("without credentials", async () => {
    const node = await withPull({ credentials: { username: "ann", password: "secret" } });
    const unauthenticated = { code: codes.UNAUTHENTICATED };
    await expect(pull(node)).rejects.toMatchObject(unauthenticated);
    const wrong = AuthConfig.fromPartial({ username: "ann", password: "guess" });
    await expect(pull(node, { auth: wrong })).rejects.toMatchObject(unauthenticated);
    await pull(node, { auth: AuthConfig.fromPartial({ username: "ann", password: "secret" }) });
  });

  test("from a pod's annotation", async () => {
    const node = await startNode();
    const sandboxConfig = scripted({ pull: "size=10Mi rate=1Mi failure=not-found" });
    await expect(pull(node, { sandboxConfig })).rejects.toMatchObject({ code: codes.NOT_FOUND });
    await pull(node);
  });
});

test("images can be present without a pull, except those with a pull rule", async () => {
  const node = await startNode({
    imagesPresent: true,
    script: [{ match: { image: "big:*" }, pull: { layers: 3 } }],
  });
  expect(await present(node)).toBe(true);
  const big = ImageSpec.fromPartial({ image: "big:1" });
  const status = () => node.client.images.imageStatus({ image: big, verbose: false });
  expect((await status()).image).toBeUndefined();
  await node.client.images.pullImage(PullImageRequest.fromPartial({ image: big }));
  expect((await status()).image?.repoTags).toEqual(["docker.io/library/big:1"]);
});

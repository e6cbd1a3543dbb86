import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { status as codes, Server, ServerCredentials } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  PullImageWithProgressRequest_GranularityType as Granularity,
  ImageServiceService,
  ImageSpec,
  PullImageRequest,
  PullImageWithProgressRequest,
  type PullImageWithProgressResponse,
} from "../../src/cri/generated/cri.ts";
import { type CriRuntime, startCriRuntime } from "../support/cri/cri-runtime.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import type { FakeRegistry } from "../support/registry/fake-registry.ts";
import { startSlowRegistry } from "../support/registry/slow-registry.ts";

const kib = 1_024;
describeWithTool("busybox", "pulls with progress over CRI", () => {
  let runtime: CriRuntime;
  let registry: FakeRegistry & { cancelled(): number };

  beforeAll(async () => {
    runtime = await startCriRuntime({ driver: "host" });
  });
  afterAll(() => runtime?.stop());
  afterEach(async () => {
    await runtime.client.images.removeImage({ image: spec() });
    await registry.stop();
  });

  const spec = () => ImageSpec.fromPartial({ image: registry.reference });

  async function pull(
    options: Parameters<typeof PullImageWithProgressRequest.fromPartial>[0],
  ): Promise<PullImageWithProgressResponse[]> {
    const request = PullImageWithProgressRequest.fromPartial({ request: { image: spec() }, ...options });
    const responses: PullImageWithProgressResponse[] = [];
    for await (const response of runtime.client.images.pullImageWithProgress(request))
      responses.push(response);
    return responses;
  }

  const sumOf = (details: PullImageWithProgressResponse["details"]) =>
    details.reduce((sum, { offset }) => sum + Number(offset?.value), 0);

  describe("PullImageWithProgress", () => {
    test("3542-1 reports, then the reference with offset equal to total; images are as after PullImage", async () => {
      registry = await startSlowRegistry({ layerBytes: [400 * kib], pieces: 8, pauseMs: 20 });
      const responses = await pull({ granularityType: Granularity.SIZE, interval: { value: 100n * 1_024n } });
      const last = responses.at(-1);
      const { image } = await runtime.client.images.imageStatus({ image: spec(), verbose: true });
      expect(last?.imageRef).toBe(image?.id);
      expect(last?.offset).toEqual(last?.total);
      const { imageRef } = await runtime.client.images.pullImage(
        PullImageRequest.fromPartial({ image: spec() }),
      );
      expect(imageRef).toBe(image?.id);
      const { images } = await runtime.client.images.listImages({ filter: { image: spec() } });
      expect(images.map(({ repoTags }) => repoTags)).toEqual([[registry.reference]]);
      const { imageFilesystems } = await runtime.client.images.imageFsInfo({});
      expect(Number(imageFilesystems[0]?.usedBytes?.value)).toBeGreaterThan(400 * kib);
    });

    test("3542-2 by size: a report each interval; none: only the last", async () => {
      registry = await startSlowRegistry({ layerBytes: [800 * kib], pieces: 16, pauseMs: 20 });
      const responses = await pull({ granularityType: Granularity.SIZE, interval: { value: 200n * 1_024n } });
      const offsets = responses.map(({ offset }) => Number(offset?.value));
      expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
      expect(responses.length).toBeGreaterThanOrEqual(4);
      expect(responses.length).toBeLessThanOrEqual(7);
      await runtime.client.images.removeImage({ image: spec() });
      expect(await pull({ granularityType: Granularity.NONE })).toHaveLength(1);
    });

    test("3542-2 by time: a report each second, metered by the runtime", async () => {
      registry = await startSlowRegistry({ layerBytes: [100 * kib], pieces: 25, pauseMs: 100 });
      const responses = await pull({ granularityType: Granularity.TIME, interval: { value: 1n } });
      expect(responses.length).toBeGreaterThanOrEqual(3);
      expect(responses.length).toBeLessThanOrEqual(5);
    });

    test("3542-3 by size and by time: verbose has digest, offset, total and stage of every layer, a summary the sums alone", async () => {
      registry = await startSlowRegistry({ layerBytes: [300 * kib, 100 * kib], pieces: 35, pauseMs: 100 });
      const size = { granularityType: Granularity.SIZE, interval: { value: 50n * 1_024n } };
      const time = { granularityType: Granularity.TIME, interval: { value: 1n } };
      const total = registry.layers.reduce((sum, { bytes }) => sum + bytes.length, 0);
      // They share one download, each with its own reports.
      const reports = await Promise.all(
        [size, time].flatMap((every) => [true, false].map((verbosity) => pull({ ...every, verbosity }))),
      );
      for (const [i, responses] of reports.entries()) {
        const verbose = i % 2 === 0;
        expect(responses.length).toBeGreaterThan(2);
        for (const { details, ...sums } of responses) {
          expect(Number(sums.total?.value)).toBe(total);
          expect(details.map(({ layer, total }) => [layer, Number(total?.value)])).toEqual(
            verbose ? registry.layers.map(({ digest, bytes }) => [digest, bytes.length]) : [],
          );
          if (verbose) expect(sumOf(details)).toBe(Number(sums.offset?.value));
        }
        const offsets = responses.map(({ offset }) => Number(offset?.value));
        expect(new Set(offsets).size).toBeGreaterThan(2);
        expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
        expect(offsets.at(-1)).toBe(total);
        const stages = responses.map(({ details }) => details.map(({ stage }) => stage));
        if (verbose) expect(stages[0]).toContain("downloading");
        expect(stages.at(-1)).toEqual(verbose ? ["done", "done"] : []);
      }
    });

    test("3542-3 forty layers: each has its stage in each report, and their figures add up to the pull's", async () => {
      const sizes = Array.from({ length: 40 }, (_, layer) => (8 + layer) * kib);
      registry = await startSlowRegistry({ layerBytes: sizes, pieces: 4, pauseMs: 10 });
      const size = { granularityType: Granularity.SIZE, interval: { value: 32n * 1_024n } };
      const responses = await pull({ ...size, verbosity: true });
      const digests = registry.layers.map(({ digest }) => digest);
      const bytes = registry.layers.map(({ bytes }) => bytes.length);
      const total = bytes.reduce((sum, length) => sum + length, 0);
      const order = ["waiting", "downloading", "verifying", "unpacking", "done"];
      let before = digests.map(() => ({ offset: 0, stage: 0 }));
      for (const { details, offset, total: reportedTotal } of responses) {
        expect(details.map(({ layer }) => layer)).toEqual(digests);
        expect(details.map((layer) => Number(layer.total?.value))).toEqual(bytes);
        expect(Number(reportedTotal?.value)).toBe(total);
        const now = details.map((layer) => ({
          offset: Number(layer.offset?.value),
          stage: order.indexOf(layer.stage),
        }));
        expect(now.reduce((sum, layer) => sum + layer.offset, 0)).toBe(Number(offset?.value));
        // The offset of a layer never decreases.
        for (const [layer, { offset, stage }] of now.entries()) {
          expect(stage).toBeGreaterThanOrEqual(before[layer]?.stage ?? 0);
          expect(offset).toBeGreaterThanOrEqual(before[layer]?.offset ?? 0);
        }
        before = now;
      }
      expect(responses.length).toBeGreaterThan(10);
      const first = responses[0]?.details.map(({ stage }) => stage);
      expect(first?.filter((stage) => stage === "waiting").length).toBeGreaterThan(30);
      expect(first).toContain("downloading");
      expect(before).toEqual(bytes.map((offset) => ({ offset, stage: order.indexOf("done") })));
    });

    test("3542-1 3542-4 a stall fails with its reason, in both calls", async () => {
      registry = await startSlowRegistry({ layerBytes: [400 * kib], pieces: 8, pauseMs: 20, stallAfter: 3 });
      await expect(
        pull({ granularityType: Granularity.NONE, noProgressTimeout: { value: 1 } }),
      ).rejects.toMatchObject({ code: codes.DEADLINE_EXCEEDED, details: expect.stringMatching(/progress/i) });
      const plain = PullImageRequest.fromPartial({ image: spec(), noProgressTimeout: { value: 1 } });
      await expect(runtime.client.images.pullImage(plain)).rejects.toMatchObject({
        code: codes.DEADLINE_EXCEEDED,
      });
    });
  });

  describe("kindling pull", () => {
    const args = (...more: string[]) => [
      "pull",
      registry.reference,
      "--runtime-endpoint",
      runtime.endpoint,
      ...more,
    ];

    test("3542-8 lines when piped, the reference last", async () => {
      registry = await startSlowRegistry({ layerBytes: [400 * kib], pieces: 15, pauseMs: 100 });
      const { exit, output } = await runKindling(args());
      expect({ code: await exit, stderr: output.stderr }).toEqual({ code: 0, stderr: "" });
      const lines = output.stdout.trim().split("\n");
      expect(lines[0]).toMatch(/^127\.0\.0\.1:\d+\/app:v1: .* of 40\d KiB/);
      expect(lines.at(-1)).toMatch(/^sha256:[0-9a-f]{64}$/);
      expect(output.stdout).not.toContain("\x1b");

      const again = await runKindling(args());
      expect(await again.exit).toBe(0);
      expect(again.output.stdout).toMatch(
        /^127\.0\.0\.1:\d+\/app:v1: already present\nsha256:[0-9a-f]{64}\n$/,
      );
    });

    test("3542-8 JSON lines with -o json", async () => {
      registry = await startSlowRegistry({ layerBytes: [400 * kib], pieces: 8, pauseMs: 50 });
      const { exit, output } = await runKindling(
        args("-o", "json", "--granularity", "size", "--interval", "100Ki"),
      );
      expect({ code: await exit, stderr: output.stderr }).toEqual({ code: 0, stderr: "" });
      const reports = output.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(reports.length).toBeGreaterThan(2);
      expect(reports.at(-1)).toMatchObject({ details: [{ stage: "done" }] });
      expect(reports.at(-1).offset).toBe(reports.at(-1).total);
    });

    test("3542-8 a bar per layer on a terminal", async () => {
      registry = await startSlowRegistry({ layerBytes: [300 * kib, 200 * kib], pieces: 25, pauseMs: 100 });
      const { exit, output } = await runKindling(args(), { terminal: true });
      expect({ code: await exit, stderr: output.stderr }).toEqual({ code: 0, stderr: "" });
      const ids = registry.layers.map(({ digest }) => digest.slice(7, 19));
      for (const id of ids) expect(output.stdout).toMatch(new RegExp(`${id}  downloading  \\[=*> *\\]`));
      expect(output.stdout).toMatch(/KiB\/s, \d+s left/);
      expect(output.stdout).toMatch(/sha256:[0-9a-f]{64}\r?\n$/);
    });

    test("3542-8 Ctrl-C ends the pull in the runtime too", async () => {
      registry = await startSlowRegistry({ layerBytes: [400 * kib], pieces: 100, pauseMs: 100 });
      const { child, exit } = await runKindling(args());
      await expect.poll(() => registry.requests.length).toBeGreaterThan(2);
      child.kill("SIGINT");
      expect(await exit).toBe(1);
      await expect.poll(() => registry.cancelled()).toBe(1);
    });

    test("3542-4 a stall within --no-progress-timeout is exit code 1 and a reason", async () => {
      registry = await startSlowRegistry({ layerBytes: [400 * kib], pieces: 8, pauseMs: 20, stallAfter: 2 });
      const { exit, output } = await runKindling(args("--no-progress-timeout", "1"));
      expect(await exit).toBe(1);
      expect(output.stderr).toMatch(
        /^kindling: cannot pull \S+: no progress, the registry sent nothing for 1 s/,
      );
    });

    test("3542-8 a runtime without the call: one notice, and the old call", async () => {
      registry = await startSlowRegistry({ layerBytes: [kib], pieces: 1, pauseMs: 1 });
      const folder = await mkdtemp(join(tmpdir(), "kindling-old-cri-"));
      const server = new Server();
      server.addService(ImageServiceService, {
        pullImage: (_call: unknown, respond: (error: null, response: { imageRef: string }) => void) =>
          respond(null, { imageRef: "sha256:old" }),
      });
      const address = `unix:${join(folder, "old.sock")}`;
      await new Promise<void>((resolve, reject) =>
        server.bindAsync(address, ServerCredentials.createInsecure(), (error) =>
          error ? reject(error) : resolve(),
        ),
      );
      const { exit, output } = await runKindling(["pull", "busybox", "--runtime-endpoint", address]);
      expect(await exit).toBe(0);
      expect(output.stdout).toBe("sha256:old\n");
      expect(output.stderr).toBe(
        "kindling: this runtime does not report progress (it has no PullImageWithProgress); progress and --no-progress-timeout are not available\n",
      );
      const json = await runKindling(["pull", "busybox", "--runtime-endpoint", address, "-o", "json"]);
      expect(await json.exit).toBe(0);
      expect(json.output.stdout).toBe('{"imageRef":"sha256:old","offset":0,"total":0,"details":[]}\n');
      server.forceShutdown();
      await rm(folder, { recursive: true });
    });

    test("without a runtime at the address it explains what to do and exits with code 1", async () => {
      registry = await startSlowRegistry({ layerBytes: [kib], pieces: 1, pauseMs: 1 });
      const { exit, output } = await runKindling([
        "pull",
        "x",
        "--runtime-endpoint",
        "unix:///nowhere/x.sock",
      ]);
      expect(await exit).toBe(1);
      expect(output.stderr).toMatch(/no runtime responds at unix:\/\/\/nowhere\/x\.sock/);
    });
  });
});

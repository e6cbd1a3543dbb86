import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PullImageRequest } from "../../src/cri/generated/cri.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createContentProgress } from "../../src/node-agent/containerd/content-progress.ts";
import { pullWithContentProgress } from "../../src/node-agent/containerd/content-pull.ts";
import { type Containerd, startContainerd } from "../support/cri/containerd.ts";
import { startKubeletNode } from "../support/node/kubelet-node.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { describeWithTool, toolPath } from "../support/programs/tools.ts";
import { startSlowRegistry } from "../support/registry/slow-registry.ts";

const mib = 2 ** 20;

for (const tool of ["containerd", "containerd-2"] as const) {
  describeWithTool(tool, `image pull progress with ${tool}`, () => {
    let folder: string;
    let containerd: Containerd;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "kdl-"));
      containerd = await startContainerd({ program: toolPath(tool), folder: join(folder, "c") });
    });
    afterAll(async () => {
      await containerd?.stop();
      await rm(folder, { recursive: true, force: true });
    });

    test("3542-14 the kubelet publishes events and its endpoint", async () => {
      const node = await startKubeletNode({
        cri: containerd.client,
        // The address of the node may change to that of a bridge of containerd.
        config: { imagePullProgressInterval: "10", address: "0.0.0.0" },
      });
      const registry = await startSlowRegistry({
        layerBytes: [4 * mib, 6 * mib, 2 * mib, 3 * mib],
        pieces: 12,
        pauseMs: 1_300,
      });
      try {
        await node.run("slow", { containers: [{ name: "c", image: registry.reference }] });
        const path = `/api/v1/nodes/${node.name}/proxy/imagePullProgress/default/slow`;
        const read = async () => {
          const body = await node.client
            .request<{ pulls: { offset: number }[] }>("GET", path)
            .catch(() => undefined);
          return body?.pulls[0];
        };
        await expect.poll(async () => (await read())?.offset, { interval: 200 }).toBeGreaterThanOrEqual(mib);
        expect(await read()).toMatchObject({
          image: registry.reference,
          container: "c",
          total: registry.layers.reduce((sum, { bytes }) => sum + bytes.length, 0),
          layers: registry.layers.map(({ digest, bytes }) => ({ digest, total: bytes.length })),
        });
        await node.untilEvent(
          "slow",
          /^Pulling Container image 127\.0\.0\.1:\d+\/app:v1: \d+(\.\d)?Mi of 15Mi$/,
        );
        await node.untilEvent("slow", /^Successfully pulled image /);
      } finally {
        await node.close();
        await registry.stop();
      }
    });

    test("3542-14 a pull without progress is cancelled, retried, and fails with layer and registry", async () => {
      const registry = await startSlowRegistry({
        layerBytes: [6 * mib],
        pieces: 6,
        pauseMs: 20,
        stallAfter: 3,
      });
      const store = containerd.client.contentStore;
      if (!store) throw new Error("the client has no content store");
      const clock = systemClock;
      const stalls: string[] = [];
      const pulling = pullWithContentProgress(
        {
          content: createContentProgress({ store, clock, logger: silentLogger }),
          clock,
          timeoutMs: 3_000,
          maxRetries: 1,
        },
        {
          image: registry.reference,
          signal: new AbortController().signal,
          pull: (signal) =>
            containerd.client.images.pullImage(
              PullImageRequest.fromPartial({ image: { image: registry.reference } }),
              { signal, timeoutMs: 300_000 },
            ),
          onReport: () => {},
          onStall: (message) => stalls.push(message),
        },
      );
      const digest = registry.layers[0]?.digest.slice("sha256:".length, "sha256:".length + 12);
      const message = `pulling ${registry.reference}: no progress, the registry ${registry.host} sent nothing for 3 s after 3.0 MiB of 6.0 MiB of layer ${digest}; check that it is up and reachable`;
      await expect(pulling).rejects.toThrow(message);
      expect(stalls).toEqual([`${message}; retry 1 of 1`, message]);
      await expect.poll(registry.cancelled).toBe(2);
      await registry.stop();
    });

    test("3542-14 kindling pull reports progress by layer", async () => {
      const registry = await startSlowRegistry({ layerBytes: [3 * mib, 5 * mib], pieces: 8, pauseMs: 500 });
      const args = ["pull", registry.reference, "--runtime-endpoint", containerd.endpoint];
      const run = await runKindling([...args, "-o", "json"]);
      expect(await run.exit).toBe(0);
      expect(run.output.stderr).toBe("");
      const reports = run.output.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      const total = registry.layers.reduce((sum, { bytes }) => sum + bytes.length, 0);
      expect(reports.length).toBeGreaterThan(2);
      expect(reports[1]).toMatchObject({
        imageRef: registry.reference,
        total,
        details: registry.layers.map(({ digest }) => ({ layer: digest })),
      });
      expect(reports.at(-1)).toMatchObject({
        imageRef: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        offset: total,
        total,
      });
      await registry.stop();
    });
  });
}

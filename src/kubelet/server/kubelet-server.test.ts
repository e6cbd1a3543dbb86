import { mkdtemp, rm } from "node:fs/promises";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createMetrics } from "../../lib/metrics/metrics.ts";
import { parseKubeletConfiguration } from "../config/kubelet-configuration.ts";
import { makePod } from "../containers/make-pod.fixture.ts";
import { type ServeNodeOptions, serveNode } from "./kubelet-server.ts";

const head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const open = "authentication: { anonymous: { enabled: true } }\nauthorization: { mode: AlwaysAllow }\n";

async function serve(settings: string, pods: readonly Pod[] = []) {
  const logsDirectory = await mkdtemp(join(tmpdir(), "kindling-serve-"));
  const config = parseKubeletConfiguration(`${head}address: 127.0.0.1\nport: 0\n${settings}`, "the test's");
  const server = await serveNode({
    config,
    nodeName: "n1",
    workers: { list: () => pods },
    writer: { latest: ({ metadata }: Pod) => ({ message: `of ${metadata.uid}` }) },
    metrics: createMetrics(),
    logsDirectory,
    clock: createManualClock(Date.now()),
    logger: silentLogger,
  } as unknown as ServeNodeOptions);
  onTestFinished(async () => {
    await server?.close();
    await rm(logsDirectory, { recursive: true });
  });
  const read = (path: string) =>
    new Promise((resolve, reject) => {
      const options = { port: server?.port, path, rejectUnauthorized: false, agent: false };
      get({ host: "127.0.0.1", ...options }, (response) => resolve(json(response))).on("error", reject);
    });
  return { server, config, read };
}

test("serves its configuration, and its pods with their current status", async () => {
  const { config, read } = await serve(open, [makePod()]);
  expect(await read("/configz")).toEqual({ kubeletconfig: config });
  expect(await read("/pods")).toMatchObject({
    kind: "PodList",
    items: [{ metadata: { name: "web" }, status: { message: "of u-1" } }],
  });
});

test("starts no server if the configuration disables it", async () => {
  expect((await serve("enableServer: false")).server).toBeUndefined();
});

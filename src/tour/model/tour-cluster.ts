import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../../client/api/client.ts";
import { connectCluster } from "../../client/api/create-client.ts";
import { isRunning, readUpRecord } from "../../cluster/data-dir/data-dir-files.ts";
import { resetDataDir } from "../../cluster/lifecycle/reset-data-dir.ts";
import { startUp, type UpOptions } from "../../cluster/up.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { messageOf } from "../../lib/message-of.ts";
import { serveLayout } from "./layout-registry.ts";
import { makeNodeImage, type TourImage } from "./make-image.ts";
import type { TourEvent } from "./step-context.ts";

export interface TourClusterOptions
  extends Pick<UpOptions, "runtime" | "features" | "logger" | "kubeletConfig"> {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Time that the registry takes to send the image. */
  readonly pullSeconds: number;
  emit(event: TourEvent): void;
}

/** Cluster of the tour, and the image that its pods run. */
export interface TourCluster {
  readonly client: Client;
  readonly image: TourImage;
  close(): Promise<void>;
}

/** Cleaning up failed. The next tour removes what is left. */
export class CleanUpFailure extends Error {
  constructor(folder: string, cause: unknown) {
    const why = messageOf(cause);
    super(`cleaning up after the tour failed: ${why}; ${folder} is left and the next tour removes it`, {
      cause,
    });
    this.name = "CleanUpFailure";
  }
}

const simulatedBytes = 100 * 2 ** 20;

export async function startTourCluster(options: TourClusterOptions): Promise<TourCluster> {
  const { emit, clock } = options;
  const startedAt = clock.now();
  const folder = await mkdtemp(join(tmpdir(), `${folderPrefix}${process.pid}-`));
  // In closing order.
  const opened: { close(): Promise<void> | void }[] = [
    { close: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }) },
  ];
  const close = async () => {
    try {
      for (const part of opened.splice(0)) await part.close();
    } catch (error) {
      throw new CleanUpFailure(folder, error);
    }
  };
  try {
    const simulated = options.runtime.kind === "simulated";
    emit({
      kind: "preparing",
      what: simulated ? "a cluster" : "a cluster, and an image of the running Node.js",
    });
    const cluster = startUp({
      runtime: options.runtime,
      features: options.features,
      logger: options.logger,
      kubeletConfig: options.kubeletConfig,
      clock,
      signal: options.signal,
      dataDir: clusterDirOf(folder),
      ephemeral: true,
      temporary: true,
      store: { kind: "memory" },
      listen: { host: "127.0.0.1", port: 0 },
      nodes: 1,
    });
    opened.unshift({
      close: () =>
        cluster.then(
          (started) => started.close(),
          () => {},
        ),
    });
    // Waits for both before cleaning up, even if one fails.
    const [made, started] = await Promise.allSettled([
      simulated ? simulatedImage(options) : serveImage(options, { folder, opened }),
      cluster,
    ]);
    if (started.status === "rejected") throw started.reason;
    if (made.status === "rejected") throw made.reason;
    const { kubeconfig, nodes } = started.value;
    const client = await connectCluster({ kubeconfig, userAgent: "kindling-tour" });
    opened.unshift({ close: () => client.close() });
    const [node] = nodes;
    const { reference, bytes: sizeBytes, bytesPerSecond } = made.value;
    node?.simulated?.rules.add({
      match: { image: reference },
      pull: { sizeBytes, bytesPerSecond, layers: 3 },
    });
    emit({
      kind: "cluster",
      kubeconfig,
      runtime: node?.runtime ?? "",
      simulated,
      tookMs: clock.now() - startedAt,
    });
    return { client, image: made.value, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function simulatedImage({ pullSeconds }: TourClusterOptions): TourImage {
  return {
    reference: "registry.example/tour/node:1",
    bytes: simulatedBytes,
    bytesPerSecond: simulatedBytes / pullSeconds,
    node: "node",
    simulated: true,
  };
}

async function serveImage(
  { clock, signal, pullSeconds }: TourClusterOptions,
  { folder, opened }: { folder: string; opened: { close(): Promise<void> | void }[] },
): Promise<TourImage> {
  const { layout, node, bytes } = await makeNodeImage(folder, { signal });
  const bytesPerSecond = bytes / pullSeconds;
  const registry = await serveLayout({ layout, bytesPerSecond, clock });
  opened.unshift(registry);
  return { reference: `${registry.host}/tour/node:1`, bytes, bytesPerSecond, node, simulated: false };
}

const folderPrefix = "kindling-tour-";

function clusterDirOf(folder: string): string {
  return join(folder, "cluster");
}

/** Stops and removes what killed tours have left. Returns the removed directories. */
export async function sweepLeftovers({ logger }: { readonly logger: Logger }): Promise<readonly string[]> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(folderPrefix));
  const swept: string[] = [];
  for (const folder of names.map((name) => join(tmpdir(), name))) {
    if (!(await isOurs(folder))) continue;
    const dataDir = clusterDirOf(folder);
    const record = await readUpRecord(dataDir);
    // A tour without a record is starting, or was killed before it started any process.
    if (!record || isRunning(record)) continue;
    await resetDataDir({ dataDir, record, logger });
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    swept.push(folder);
  }
  return swept;
}

/** Other users can create directories in the temporary directory: only own, private ones are removed. */
async function isOurs(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}

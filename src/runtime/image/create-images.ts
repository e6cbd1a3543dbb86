import { mkdir, readFile, statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { formatImageName } from "../../lib/image-name.ts";
import { createKeyedMutex } from "../../lib/keyed-mutex.ts";
import { type Logger, silentLogger } from "../../lib/logger.ts";
import { openContentStore } from "../content/content-store.ts";
import { chooseCredential, readDockerConfig } from "../registry/credentials.ts";
import { hostPlatform, type Platform } from "../registry/platform.ts";
import { parseReference } from "../registry/reference.ts";
import { endpointsFor, noRegistries, type RegistriesConfig } from "../registry/registries-config.ts";
import { createRegistryClient } from "../registry/registry-client.ts";
import { createTransport } from "../registry/transport.ts";
import { inheritDirectories } from "../snapshot/inherit-directories.ts";
import { openLayerStore } from "../snapshot/layer-store.ts";
import { canMountOverlay } from "../snapshot/probe-overlay.ts";
import { openRootfsStore, type RootfsMode } from "../snapshot/rootfs-store.ts";
import { unpackCommand } from "../snapshot/unpack-command.ts";
import type { UnpackLimits } from "../snapshot/unpack-layer.ts";
import { createUnpackPool } from "../snapshot/unpack-pool.ts";
import { type BuildOptions, buildFromDirectory } from "./build-image.ts";
import { diskUsage } from "./disk-usage.ts";
import { fetchLayer, type LayerFetch } from "./fetch-layer.ts";
import { findImage } from "./find-image.ts";
import { followPull } from "./follow-pull.ts";
import { createImageCollector } from "./image-collector.ts";
import { ImageError } from "./image-error.ts";
import { type ImageRecord, openImageRecords } from "./image-records.ts";
import type { Image, Images, PullRequest } from "./images.ts";
import { importArchive } from "./import-archive.ts";
import { type PullState, pullImage } from "./pull-image.ts";
import { createSharedWork } from "./shared-work.ts";

export interface ImagesOptions {
  /** Everything is kept below it; one daemon at a time. */
  readonly dataDir: string;
  /** The built unpack process; found beside the command unless told (tests bundle their own). */
  readonly unpackProgram?: string;
  readonly registries?: RegistriesConfig;
  readonly dockerConfigFile?: string;
  readonly platform?: Platform;
  readonly rootfsMode?: RootfsMode;
  readonly limits?: Partial<UnpackLimits>;
  readonly maxParallelLayers?: number;
  /** Whole references of images that kubelets shall never collect. */
  readonly pinned?: ReadonlySet<string>;
  /** The kernel's, unless told: what was written in another boot and never synced is not trusted. */
  readonly bootId?: string;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** The contract, and what only this machine's own commands use. */
export interface LocalImages extends Images {
  readonly rootfsMode: RootfsMode;
  /** A docker-archive or an OCI layout, as a tar file or a directory; answers with the images in it. */
  importArchive(path: string, options?: { tag?: string; signal?: AbortSignal }): Promise<Image[]>;
  buildFromDirectory(options: BuildOptions): Promise<Image>;
}

/** Between a container's id and the name of a volume; no id has a dot. */
const volumeMark = ".volume-";

const defaultLimits: UnpackLimits = { maxBytes: 64 * 2 ** 30, maxEntries: 5_000_000 };
/** A bomb must not take the machine's last free bytes. */
const freeShare = 0.95;

/** The first time the unpack process runs without a jail, the operator is told. */
function tellOnce(logger: Logger): (facts: { jailed: boolean }) => void {
  let told = false;
  return ({ jailed }) => {
    if (jailed || told) return;
    told = true;
    logger.warn("layers are unpacked without a root of their own: this machine does not allow one");
  };
}

export async function createImages(options: ImagesOptions): Promise<LocalImages> {
  const { clock = systemClock, logger = silentLogger, registries = noRegistries } = options;
  const dataDir = resolve(options.dataDir);
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const bootId = options.bootId ?? (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
  const content = await openContentStore(join(dataDir, "content"));
  const layers = await openLayerStore({ dataDir, bootId, logger });
  const rootfsMode = options.rootfsMode ?? ((await canMountOverlay(dataDir)) ? "overlay" : "copy");
  const rootfs = await openRootfsStore({ dataDir, layers, mode: rootfsMode });
  const records = await openImageRecords({
    dataDir,
    isWhole: ({ diffIds }) => diffIds.every((diffId) => layers.find(diffId)),
  });
  const transport = createTransport(registries);
  const { argv } = await unpackCommand({ dataDir, program: options.unpackProgram });
  const pool = createUnpackPool({ command: argv, onReady: tellOnce(logger) });
  const collector = createImageCollector({ records, layers, content, rootfs, clock });
  const pulls = createSharedWork<PullState, ImageRecord>();
  const layerFetches = createSharedWork<LayerFetch, void>();
  const exclusive = createKeyedMutex();
  await collector.collectOld();

  const limits = async (): Promise<UnpackLimits> => {
    const { bavail, bsize } = await statfs(dataDir);
    const wanted = { ...defaultLimits, ...options.limits };
    return { ...wanted, maxBytes: Math.min(wanted.maxBytes, Math.floor(bavail * bsize * freeShare)) };
  };

  /** The record with what is known already of the same image. */
  async function save(record: ImageRecord): Promise<ImageRecord> {
    const known = records.get(record.id);
    const repoTags = [...new Set([...(known?.repoTags ?? []), ...record.repoTags])];
    const merged: ImageRecord = {
      ...record,
      repoTags,
      repoDigests: [...new Set([...(known?.repoDigests ?? []), ...record.repoDigests])],
      blobs: [...new Set([...(known?.blobs ?? []), ...record.blobs])],
    };
    const stack = merged.diffIds.flatMap((diffId) => layers.find(diffId) ?? []);
    for (const layer of stack) {
      // Layers of images that are here already were settled with the first of them.
      const isNew = !records.list().some(({ diffIds }) => diffIds.includes(layer.diffId));
      if (isNew) inheritDirectories(layers.directory, stack, layer);
    }
    await records.put(merged);
    collector.syncLater(merged.diffIds);
    return merged;
  }

  function joinPull(request: PullRequest, signal: AbortSignal) {
    const reference = parseReference(request.reference);
    // Read for each pull: somebody may have logged in since.
    const dockerConfig = readDockerConfig(options.dockerConfigFile);
    const credentialFor = (host: string) => chooseCredential(host, request.auth, dockerConfig);
    const endpoints = endpointsFor(reference.host, registries);
    pool.warm();
    return pulls.join(JSON.stringify([formatImageName(reference), request.auth ?? null]), {
      signal,
      begin: (pullSignal) =>
        pullImage(
          {
            content,
            layers,
            clock,
            platform: options.platform ?? hostPlatform,
            maxParallelLayers: options.maxParallelLayers ?? 4,
            fetchLayer: (layer) =>
              // By both: an image whose configuration lies about a layer must not fail another's pull of the same one.
              layerFetches.join(`${layer.descriptor.digest} ${layer.diffId}`, {
                signal: layer.signal,
                begin: (layerSignal) =>
                  fetchLayer(
                    { content, layers, pool, clock, limits, exclusive },
                    { ...layer, signal: layerSignal },
                  ),
              }),
            lease: collector.lease,
            save,
          },
          {
            reference,
            createClient: (onActivity) =>
              createRegistryClient({ transport, reference, endpoints, credentialFor, onActivity }),
            signal: pullSignal,
          },
        ),
    });
  }

  /** By today's configuration, whatever it was when the image came. */
  function withPin(image: ImageRecord): Image {
    const names = [...image.repoTags, ...image.repoDigests];
    return { ...image, pinned: names.some((name) => options.pinned?.has(name)) };
  }

  const importDeps = { content, layers, pool, clock, limits, save, lease: collector.lease, dataDir };

  return {
    rootfsMode,
    directory: dataDir,
    pull: (request) => followPull({ clock, request, join: (signal) => joinPull(request, signal) }),
    list: () => records.list().map(withPin),
    find(reference) {
      const image = findImage(records.list(), reference);
      return image && withPin(image);
    },
    async remove(reference) {
      const image = findImage(records.list(), reference);
      if (!image) return;
      const user = rootfs.list().find(({ imageId }) => imageId === image.id);
      if (user) {
        throw new ImageError(
          "inUse",
          `${reference} is in use by container ${user.containerId}; remove that first`,
        );
      }
      await records.remove(image.id);
      await collector.collectImage(image);
    },
    async usage() {
      const { usedBytes, inodesUsed } = await diskUsage(dataDir);
      return { mountpoint: dataDir, usedBytes, inodesUsed };
    },
    async createRootfs({ containerId, volume, image }) {
      const record = records.get(image.id);
      if (!record) throw new ImageError("notFound", `image ${image.id} is not here; pull it first`);
      const stack = record.diffIds.flatMap((diffId) => layers.find(diffId) ?? []);
      const name = volume === undefined ? containerId : `${containerId}${volumeMark}${volume}`;
      return rootfs.create(name, { id: image.id, layers: stack });
    },
    async removeRootfs(containerId) {
      const all = rootfs.list().map(({ containerId: name }) => name);
      const volumes = all.filter((name) => name.startsWith(`${containerId}${volumeMark}`));
      for (const name of [containerId, ...volumes]) await rootfs.remove(name);
    },
    writableUsage: (containerId) => diskUsage(rootfs.writablePath(containerId)),
    importArchive: (path, importOptions) => importArchive(importDeps, path, importOptions),
    buildFromDirectory: (buildOptions) => buildFromDirectory(importDeps, buildOptions),
    async close() {
      const reason = new ImageError("cancelled", "the runtime is stopping");
      await pulls.close(reason);
      await layerFetches.close(reason);
      await collector.close();
      transport.close();
      await pool.close();
    },
  };
}

import { mkdir, readFile, statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { formatImageName } from "../../lib/image/image-name.ts";
import { createKeyedMutex } from "../../lib/keyed-mutex.ts";
import { type Logger, silentLogger } from "../../lib/logger.ts";
import { openContentStore } from "../content/content-store.ts";
import { ImageError } from "../errors/image-error.ts";
import {
  chooseCredential,
  endpointsFor,
  noRegistries,
  type RegistriesConfig,
  readDockerConfig,
} from "../registry/credentials.ts";
import { hostPlatform, type Platform } from "../registry/manifest.ts";
import { parseReference } from "../registry/reference.ts";
import { createRegistryClient } from "../registry/registry-client.ts";
import { createTransport } from "../registry/transport.ts";
import { inheritDirectories, openLayerStore } from "../snapshots/layer-store.ts";
import { canMountOverlay, openRootfsStore, type RootfsMode } from "../snapshots/rootfs-store.ts";
import type { UnpackLimits } from "../snapshots/unpack-layer.ts";
import { createUnpackPool, unpackCommand } from "../snapshots/unpack-pool.ts";
import { type BuildOptions, buildFromDirectory } from "./build-image.ts";
import { fetchLayer, type LayerFetch, type LayerFetchDeps } from "./fetch-layer.ts";
import { followPull } from "./follow-pull.ts";
import { createImageCollector, findImage, type ImageRecord, openImageRecords } from "./image-records.ts";
import { diskUsage, type Image, type Images, type PullRequest } from "./images.ts";
import { importArchive } from "./import-archive.ts";
import { type PullState, pullImage } from "./pull-image.ts";
import { createSingleflight } from "./singleflight.ts";

export interface ImagesOptions {
  /** Directory of all files. Used by one daemon at a time. */
  readonly dataDir: string;
  /** Path of the built unpack program. Defaults to the one beside the command; tests bundle their own. */
  readonly unpackProgram?: string;
  readonly registries?: RegistriesConfig;
  readonly dockerConfigFile?: string;
  readonly platform?: Platform;
  readonly rootfsMode?: RootfsMode;
  readonly limits?: Partial<UnpackLimits>;
  readonly maxParallelLayers?: number;
  /** Full references of images that the kubelet's garbage collection must keep. */
  readonly pinned?: ReadonlySet<string>;
  /** Boot ID. Defaults to the kernel's; files written in another boot and never synced are not trusted. */
  readonly bootId?: string;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** Images with the operations that only this machine's own commands use. */
export interface LocalImages extends Images {
  readonly rootfsMode: RootfsMode;
  /** Imports a docker-archive or an OCI layout, as a tar file or a directory, and returns its images. */
  importArchive(path: string, options?: { tag?: string; signal?: AbortSignal }): Promise<Image[]>;
  buildFromDirectory(options: BuildOptions): Promise<Image>;
}

/** Separates a container's ID from the name of a volume; IDs contain no dot. */
const volumeMark = ".volume-";

const defaultLimits: UnpackLimits = { maxBytes: 64 * 2 ** 30, maxEntries: 5_000_000 };
/** Share of the free space that a layer may take, so that a decompression bomb does not fill the disk. */
const freeShare = 0.95;

/** Warns the first time that the unpack process runs without a jail. */
function warnOnceWithoutJail(logger: Logger): (facts: { jailed: boolean }) => void {
  let warned = false;
  return ({ jailed }) => {
    if (jailed || warned) return;
    warned = true;
    logger.warn(
      "layers are unpacked without a jail: this machine does not allow the unpack process its own root directory",
    );
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
  const pool = createUnpackPool({ command: argv, onReady: warnOnceWithoutJail(logger) });
  const collector = createImageCollector({ records, layers, content, rootfs, clock });
  const pulls = createSingleflight<PullState, ImageRecord>();
  const layerFetches = createSingleflight<LayerFetch, void>();
  await collector.collectOld();

  const limits = async (): Promise<UnpackLimits> => {
    const { bavail, bsize } = await statfs(dataDir);
    const wanted = { ...defaultLimits, ...options.limits };
    return { ...wanted, maxBytes: Math.min(wanted.maxBytes, Math.floor(bavail * bsize * freeShare)) };
  };
  const exclusive = createKeyedMutex();
  const layerFetchDeps: LayerFetchDeps = {
    content,
    layers,
    pool,
    clock,
    limits,
    exclusive,
    active: new Map(),
  };

  /** Saves a record, merged with the existing record of the same image. */
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
      // Directories of layers that belong to existing images were completed with the first of those.
      const isNew = !records.list().some(({ diffIds }) => diffIds.includes(layer.diffId));
      if (isNew) inheritDirectories(layers.directory, stack, layer);
    }
    await records.put(merged);
    collector.syncLater(merged.diffIds);
    return merged;
  }

  function joinPull(request: PullRequest, signal: AbortSignal) {
    const reference = parseReference(request.reference);
    // Read for each pull, because `docker login` may have run since.
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
              // The diff ID is part of the key: an image whose configuration has a wrong one must not fail another
              // image's pull.
              layerFetches.join(`${layer.descriptor.digest} ${layer.diffId}`, {
                signal: layer.signal,
                begin: (layerSignal) => fetchLayer(layerFetchDeps, { ...layer, signal: layerSignal }),
              }),
            lease: collector.lease,
            save,
          },
          {
            reference,
            client: createRegistryClient({ transport, reference, endpoints, credentialFor }),
            signal: pullSignal,
          },
        ),
    });
  }

  /** Sets `pinned` from the current configuration. */
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
    rootfsOwners: () => [
      ...new Set(rootfs.list().map(({ containerId: name }) => name.split(volumeMark)[0] ?? name)),
    ],
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

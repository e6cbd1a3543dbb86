import { lstat, opendir } from "node:fs/promises";
import type { ReportGranularity } from "../../cri/progress-message.ts";
import type { PullProgress } from "../../lib/image/pull-progress.ts";
import { isMapping } from "../../lib/is-mapping.ts";
import { ImageError } from "../errors/image-error.ts";
import type { RegistryAuth } from "../registry/credentials.ts";

/** Images of this machine: pulled, imported or built, unpacked, and mounted as root file systems of containers. */
export interface Images {
  /** Directory of images and root file systems. */
  readonly directory: string;
  /**
   * Pulls an image. Concurrent pulls of one image share a download; each caller has its own reports. Ends with `done`.
   */
  pull(request: PullRequest): AsyncIterable<PullReport>;
  list(): readonly Image[];
  /** Finds an image by ID, digest reference, tag reference or short name. */
  find(reference: string): Image | undefined;
  remove(reference: string): Promise<void>;
  /** Disk usage of images and root file systems, for ImageFsInfo. */
  usage(): Promise<FileSystemUsage>;
  /** Mounts a writable root file system of the image. A later run of the daemon can release it too. */
  createRootfs(options: {
    containerId: string;
    image: Image;
    /** Name of an additional volume of the container; its own root when undefined. */
    volume?: string;
  }): Promise<Rootfs>;
  /** IDs of the containers that have root file systems or volumes, also of those that an earlier daemon created. */
  rootfsOwners(): readonly string[];
  /** Removes the container's root file system and its volumes. */
  removeRootfs(containerId: string): Promise<void>;
  /** Disk usage of the files that a container wrote to its root file system. */
  writableUsage(containerId: string): Promise<DiskUsage>;
  /** Cancels pulls and waits for background work. */
  close(): Promise<void>;
}

export interface PullRequest {
  readonly reference: string;
  readonly auth?: RegistryAuth;
  /**
   * Time without a byte after which the pull fails; 0 or undefined disables it. Unpacking does not count. The time
   * starts with the call, and a silent transfer that another caller began is restarted after half of it.
   */
  readonly noProgressTimeoutMs?: number;
  readonly granularity: ReportGranularity;
  /** Cancels the request. The download is cancelled with its last caller. */
  readonly signal: AbortSignal;
}

export type PullReport =
  | (PullProgress & { readonly kind: "progress" })
  | (PullProgress & { readonly kind: "done"; readonly image: Image });

export interface Image {
  /** `sha256:…` of the image's configuration. */
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  /** Compressed bytes of all layers and the configuration. */
  readonly size: number;
  readonly pinned: boolean;
  readonly config: ImageConfig;
}

/** Part of an OCI image configuration that containers use. */
export interface ImageConfig {
  readonly user: string;
  readonly env: readonly string[];
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly workingDir: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly stopSignal?: string;
  readonly volumes: readonly string[];
  readonly exposedPorts: readonly string[];
}

interface Rootfs {
  /** Mounted directory. */
  readonly path: string;
}

interface FileSystemUsage extends DiskUsage {
  readonly mountpoint: string;
}

export interface DiskUsage {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

/**
 * Disk usage of a directory tree, without other file systems mounted below it. Files that vanish meanwhile do not
 * count.
 */
export async function diskUsage(directory: string): Promise<DiskUsage> {
  const seen = new Set<number>();
  let usedBytes = 0;

  async function visit(path: Buffer, device: number): Promise<void> {
    const found = await lstat(path).catch(() => undefined);
    if (!found || found.dev !== device || seen.has(found.ino)) return;
    seen.add(found.ino);
    usedBytes += found.blocks * 512;
    if (!found.isDirectory()) return;
    // latin1 keeps one character per byte, because names need not be UTF-8.
    const entries = await opendir(path, { encoding: "latin1" }).catch(() => undefined);
    if (!entries) return;
    for await (const { name } of entries)
      await visit(Buffer.concat([path, Buffer.from(`/${name}`, "latin1")]), device);
  }

  const root = await lstat(directory).catch(() => undefined);
  if (root) await visit(Buffer.from(directory), root.dev);
  return { usedBytes, inodesUsed: seen.size };
}

export interface ParsedConfig {
  readonly config: ImageConfig;
  /** Digests of the uncompressed layers, lowest first. */
  readonly diffIds: readonly string[];
}

/** Parses an OCI or Docker image configuration. */
export function parseImageConfig(text: string): ParsedConfig {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new ImageError("invalidArchive", "the image's configuration is not JSON");
  }
  if (!isMapping(parsed))
    throw new ImageError("invalidArchive", "the image's configuration is not an object");
  const rootfs = record(parsed.rootfs);
  const diffIds = strings(rootfs.diff_ids);
  if (!diffIds.every((diffId) => /^sha256:[0-9a-f]{64}$/.test(diffId))) {
    throw new ImageError(
      "invalidArchive",
      "the image's configuration has a diff_id that is not a sha256 digest",
    );
  }
  const config = record(parsed.config);
  return {
    diffIds,
    config: {
      user: string(config.User),
      env: strings(config.Env),
      entrypoint: strings(config.Entrypoint),
      command: strings(config.Cmd),
      workingDir: string(config.WorkingDir),
      labels: Object.fromEntries(
        Object.entries(record(config.Labels)).map(([key, value]) => [key, string(value)]),
      ),
      ...(typeof config.StopSignal === "string" &&
        config.StopSignal !== "" && { stopSignal: config.StopSignal }),
      volumes: Object.keys(record(config.Volumes)),
      exposedPorts: Object.keys(record(config.ExposedPorts)),
    },
  };
}

function record(value: unknown): Record<string, unknown> {
  return isMapping(value) ? value : {};
}

function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

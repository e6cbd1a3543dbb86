import type { ReportGranularity } from "../../cri/report-meter.ts";
import type { DiskUsage } from "./disk-usage.ts";

/** The images of this machine: pulled, imported or built, unpacked, and lent to containers as root file systems. */
export interface Images {
  /** Images and root file systems are below it. */
  readonly directory: string;
  /** Pulls of one image at the same time share one download; each has its own reports. Ends with `kind: "done"`. */
  pull(request: PullRequest): AsyncIterable<PullReport>;
  list(): readonly Image[];
  /** By id, digest reference, tag reference or short name (`busybox` is `docker.io/library/busybox:latest`). */
  find(reference: string): Image | undefined;
  remove(reference: string): Promise<void>;
  /** What the images and root file systems take on disk, for ImageFsInfo. */
  usage(): Promise<FileSystemUsage>;
  /** A writable root file system of the image, mounted; released on every path, also by a later run of the daemon. */
  createRootfs(options: {
    containerId: string;
    image: Image;
    /** Names one that the container has beside its own root. */
    volume?: string;
  }): Promise<Rootfs>;
  /** With those of its volumes. */
  removeRootfs(containerId: string): Promise<void>;
  /** What a container's root file system takes beside its image: what was written to it. */
  writableUsage(containerId: string): Promise<DiskUsage>;
  /** Ends pulls and forgets half-made things of an earlier run. */
  close(): Promise<void>;
}

export interface PullRequest {
  readonly reference: string;
  readonly auth?: RegistryAuth;
  /** This long without one byte fails the pull; 0 or missing: never. Unpacking is not a stall. */
  readonly noProgressTimeoutMs?: number;
  readonly granularity: ReportGranularity;
  /** Aborting the last caller's signal cancels the download. */
  readonly signal: AbortSignal;
}

export interface RegistryAuth {
  readonly username?: string;
  readonly password?: string;
  readonly auth?: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
  readonly serverAddress?: string;
}

export type PullReport =
  | {
      readonly kind: "progress";
      readonly offset: number;
      readonly total: number;
      readonly layers: readonly LayerProgress[];
    }
  | {
      readonly kind: "done";
      readonly image: Image;
      readonly offset: number;
      readonly total: number;
      readonly layers: readonly LayerProgress[];
    };

export interface LayerProgress {
  readonly digest: string;
  readonly offset: number;
  readonly total: number;
  readonly stage: LayerStage;
}

export type LayerStage = "waiting" | "downloading" | "verifying" | "unpacking" | "done" | "exists";

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

/** The part of an OCI image configuration that containers are made of. */
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
  /** The mounted directory. */
  readonly path: string;
}

interface FileSystemUsage extends DiskUsage {
  readonly mountpoint: string;
}

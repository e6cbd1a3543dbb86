import { ImageError } from "./image-error.ts";
import type { ImageConfig } from "./images.ts";

export interface ParsedConfig {
  readonly config: ImageConfig;
  /** The digests of the uncompressed layers, lowest first. */
  readonly diffIds: readonly string[];
}

/** An OCI or Docker image configuration. */
export function parseImageConfig(text: string): ParsedConfig {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new ImageError("invalidArchive", "the image's configuration is not JSON");
  }
  const rootfs = record(record(parsed).rootfs);
  const diffIds = texts(rootfs.diff_ids);
  if (!diffIds.every((diffId) => /^sha256:[0-9a-f]{64}$/.test(diffId))) {
    throw new ImageError(
      "invalidArchive",
      "the image's configuration has a diff_id that is not a sha256 digest",
    );
  }
  const config = record(record(parsed).config);
  return {
    diffIds,
    config: {
      user: string(config.User),
      env: texts(config.Env),
      entrypoint: texts(config.Entrypoint),
      command: texts(config.Cmd),
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
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

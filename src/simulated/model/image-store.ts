import { createHash } from "node:crypto";
import { type ServiceError, status } from "@grpc/grpc-js";
import type { AuthConfig } from "../../cri/generated/cri.ts";
import type { ReportGranularity } from "../../cri/progress-message.ts";
import { parseImageName, repositoryName } from "../../lib/image/image-name.ts";
import type { LayerProgress } from "../../lib/image/pull-progress.ts";
import type { PullFailure, PullScript } from "../scripts/scripts.ts";
import { failure, invalidArgument } from "./failure.ts";

export interface SimulatedImage {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
}

/** Present images by id. */
export type ImageStore = Map<string, SimulatedImage>;

/** Image for a reference. Its id is derived from the name, so that it is the same on every node. */
export function imageOf(reference: string, sizeBytes: number): SimulatedImage {
  const { repository, tag, digest } = nameImage(reference);
  return {
    id: fakeDigest(`config ${repository}@${digest}`),
    repoTags: tag === "" ? [] : [`${repository}:${tag}`],
    repoDigests: [`${repository}@${digest}`],
    sizeBytes,
  };
}

/** Finds an image by id, unique id prefix or reference. */
export function findImage(images: ImageStore, text: string): SimulatedImage | undefined {
  const id = text.startsWith("sha256:") ? text : `sha256:${text}`;
  const byId = images.get(id);
  if (byId) return byId;
  if (/^sha256:[0-9a-f]{6,64}$/.test(id)) {
    const found = [...images.values()].filter((image) => image.id.startsWith(id));
    if (found.length === 1) return found[0];
  }
  try {
    return images.get(imageOf(text, 0).id);
  } catch {
    // Not a valid reference.
    return undefined;
  }
}

interface NamedImage {
  /** `docker.io/library/busybox`. */
  readonly repository: string;
  /** Empty if there is a digest. */
  readonly tag: string;
  /** `sha256:…`: the digest in the reference, else one derived from the name. */
  readonly digest: string;
}

export function nameImage(text: string): NamedImage {
  const name = parseImageName(text);
  if ("problem" in name) {
    throw invalidArgument(
      `"${text}" is not an image reference (${name.problem}): write it like docker.io/library/busybox:1.36`,
    );
  }
  const repository = repositoryName(name);
  const { tag = "", digest } = name;
  if (digest !== undefined) return { repository, tag: "", digest };
  return { repository, tag, digest: fakeDigest(`manifest ${repository}:${tag}`) };
}

/** Deterministic digest of a text, for objects without content. */
function fakeDigest(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

// The progress of a pull is a function of the time since its start: a pull in progress needs no timers.

export interface PullPlan {
  readonly layers: readonly { readonly digest: string; readonly size: number; readonly exists: boolean }[];
  /** Size of the layers to download. */
  readonly total: number;
  /** Time of the first byte. */
  readonly startMs: number;
  readonly bytesPerMs: number;
  readonly stall?: { readonly atByte: number; readonly ms: number };
  readonly unpackMs: number;
  readonly failure?: { readonly atByte: number; readonly error: ServiceError };
}

/** Time at which a number of bytes has arrived. */
export function timeOfByte(plan: PullPlan, byte: number): number {
  const stalled = plan.stall && byte > plan.stall.atByte ? plan.stall.ms : 0;
  return plan.startMs + byte / plan.bytesPerMs + stalled;
}

/** Number of bytes that have arrived. */
export function bytesAt(plan: PullPlan, atMs: number): number {
  const { bytesPerMs, stall, startMs, total } = plan;
  let flowing = atMs - startMs;
  if (flowing < 0) return 0;
  const reach = stall ? stall.atByte / bytesPerMs : Number.POSITIVE_INFINITY;
  if (stall && flowing >= reach) {
    if (flowing < reach + stall.ms) return Math.min(Math.floor(stall.atByte), total);
    flowing -= stall.ms;
  }
  if (bytesPerMs === Number.POSITIVE_INFINITY) return total;
  // The tolerance compensates rounding errors for a byte that arrives at exactly this time.
  return Math.min(total, Math.floor(flowing * bytesPerMs + 1e-6));
}

type PullEnding =
  | { readonly kind: "done"; readonly atMs: number }
  | { readonly kind: "failed"; readonly atMs: number; readonly error: ServiceError }
  | { readonly kind: "stalled"; readonly atMs: number };

/** Outcome of the pull for a caller with a no-progress timeout; 0 means none. */
export function endingOf(plan: PullPlan, noProgressMs: number): PullEnding {
  const { failure } = plan;
  const end: PullEnding = failure
    ? { kind: "failed", atMs: timeOfByte(plan, Math.min(failure.atByte, plan.total)), error: failure.error }
    : { kind: "done", atMs: timeOfByte(plan, plan.total) + plan.unpackMs };
  const stalledAt = noProgressMs > 0 ? stallOf(plan, noProgressMs) : undefined;
  return stalledAt !== undefined && stalledAt < end.atMs ? { kind: "stalled", atMs: stalledAt } : end;
}

/** No bytes arrive before the start, during a stall, or in time at a very low rate. Unpacking does not count as a stall. */
function stallOf({ startMs, stall, ...plan }: PullPlan, noProgressMs: number): number | undefined {
  if (startMs > noProgressMs) return noProgressMs;
  if (plan.total > 0 && 1 / plan.bytesPerMs > noProgressMs) return startMs + noProgressMs;
  if (!stall || stall.ms <= noProgressMs || stall.atByte >= plan.total) return undefined;
  return startMs + stall.atByte / plan.bytesPerMs + noProgressMs;
}

/** Time of the next report; undefined if there is none. */
export function nextReportAt(
  plan: PullPlan,
  granularity: ReportGranularity,
  last: { readonly atMs: number; readonly offset: number },
): number | undefined {
  switch (granularity.kind) {
    case "none":
      return undefined;
    case "time":
      return last.atMs + granularity.intervalMs;
    case "size": {
      const target = last.offset + granularity.intervalBytes;
      return target > plan.total ? undefined : timeOfByte(plan, target);
    }
  }
}

/** Progress of the layers, which are downloaded one after the other and unpacked after the last byte. */
export function layersAt(plan: PullPlan, atMs: number): LayerProgress[] {
  let before = 0;
  const here = bytesAt(plan, atMs);
  const unpacking = plan.unpackMs > 0 && atMs < timeOfByte(plan, plan.total) + plan.unpackMs;
  return plan.layers.map(({ digest, size, exists }) => {
    if (exists) return { digest, offset: 0, total: 0, stage: "exists" };
    const offset = Math.min(size, Math.max(0, here - before));
    before += size;
    const whole = unpacking ? "unpacking" : "done";
    const stage = offset === size ? whole : offset > 0 ? "downloading" : "waiting";
    return { digest, offset, total: size, stage };
  });
}

const defaultSizeBytes = 10 * 2 ** 20;
/** Maximum number of layers of an image in registries. */
const maxLayers = 127;

export function imageSize({ sizeBytes = defaultSizeBytes }: PullScript): number {
  return Math.max(0, Math.round(sizeBytes));
}

/** Plans a pull by its script. An existing image needs no download, but still contacts the registry. */
export function planPull(
  script: PullScript,
  pull: { reference: string; here: boolean; auth: AuthConfig | undefined },
): PullPlan {
  const layers = splitLayers(script, pull);
  const { stallAtByte, stallMs, bytesPerSecond } = script;
  const problem = failureOf(script, pull.auth);
  return {
    layers,
    total: pull.here ? 0 : imageSize(script),
    startMs: script.delayMs ?? 0,
    // A rate of 0 becomes one so small that a byte never arrives.
    bytesPerMs: Math.max((bytesPerSecond ?? Number.POSITIVE_INFINITY) / 1_000, Number.MIN_VALUE),
    ...((stallAtByte !== undefined || stallMs !== undefined) && {
      stall: { atByte: stallAtByte ?? 0, ms: stallMs ?? Number.POSITIVE_INFINITY },
    }),
    unpackMs: pull.here ? 0 : (script.unpackMs ?? 0),
    ...(problem && {
      failure: { atByte: problem.atByte ?? 0, error: pullError(problem, pull.reference) },
    }),
  };
}

/** Splits the size into layers. The first ones are a byte larger if it is not divisible. */
function splitLayers(
  script: PullScript,
  { reference, here }: { reference: string; here: boolean },
): PullPlan["layers"] {
  const count = Math.min(Math.max(1, Math.round(script.layers ?? 1)), maxLayers);
  const size = imageSize(script);
  return Array.from({ length: count }, (_, i) => ({
    digest: fakeDigest(`layer ${i} ${reference}`),
    size: Math.floor(size / count) + (i < size % count ? 1 : 0),
    exists: here,
  }));
}

function failureOf(script: PullScript, auth: AuthConfig | undefined): PullFailure | undefined {
  const { credentials } = script;
  const known =
    !credentials || (auth?.username === credentials.username && auth.password === credentials.password);
  return known ? script.failure : { kind: "unauthorized" };
}

function pullError({ kind, message }: PullFailure, reference: string): ServiceError {
  switch (kind) {
    case "unauthorized":
      return failure(
        status.UNAUTHENTICATED,
        message ?? `pulling ${reference}: unauthorized: authentication required`,
      );
    case "notFound":
      return failure(status.NOT_FOUND, message ?? `pulling ${reference}: not found; check name and tag`);
    case "unavailable":
      return failure(status.UNAVAILABLE, message ?? `pulling ${reference}: the registry does not answer`);
  }
}

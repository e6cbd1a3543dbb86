// Clauses: 3542-2
import type { LayerProgress, PullProgress } from "../lib/image/pull-progress.ts";
import {
  type LayerProgress as LayerMessage,
  type PullImageWithProgressRequest,
  PullImageWithProgressResponse,
} from "./generated/cri.ts";

/**
 * Creates the mapping from the progress of one pull to CRI messages, with a message for each layer if `verbose`. A layer
 * without change keeps its message from one report to the next, so that `serializeProgress` encodes it once.
 */
export function createProgressMessages({
  verbose,
}: {
  verbose: boolean;
}): (progress: PullProgress, imageRef: string) => PullImageWithProgressResponse {
  let previous: readonly LayerProgress[] = [];
  let messages: readonly LayerMessage[] = [];
  return (progress, imageRef) => {
    const layers = verbose ? progress.layers : [];
    const details = layers.map(
      (layer, i) => (layer === previous[i] ? messages[i] : undefined) ?? layerMessage(layer),
    );
    [previous, messages] = [layers, details];
    return {
      imageRef,
      offset: { value: BigInt(progress.offset) },
      total: { value: BigInt(progress.total) },
      details,
    };
  };
}

/** Parses a CRI message. Undefined values are 0. */
export function parseProgress({ offset, total, details }: PullImageWithProgressResponse): PullProgress {
  return {
    offset: Number(offset?.value ?? 0),
    total: Number(total?.value ?? 0),
    layers: details.map((detail) => ({
      digest: detail.layer,
      offset: Number(detail.offset?.value ?? 0),
      total: Number(detail.total?.value ?? 0),
      stage: detail.stage,
    })),
  };
}

function layerMessage({ digest, offset, total, stage }: LayerProgress): LayerMessage {
  return { layer: digest, offset: { value: BigInt(offset) }, total: { value: BigInt(total) }, stage };
}

/** Layers of the previous report and their encoded parts. Shared by all pulls. */
let before: { layers: readonly LayerMessage[]; parts: readonly Uint8Array[] } = { layers: [], parts: [] };

/**
 * Encodes like the generated code, but reuses the bytes of unchanged layers: between two reports of an image with forty
 * layers about four change, and encoding is most of the cost of a report. Without unchanged layers, encoding the whole
 * message takes half as long as encoding parts.
 */
export function serializeProgress(report: PullImageWithProgressResponse): Buffer {
  const { details: layers } = report;
  const last = before;
  const isUnchanged = (layer: LayerMessage, i: number) => layer === last.layers[i];
  const parts = layers.some(isUnchanged)
    ? layers.map((layer, i) => (isUnchanged(layer, i) && last.parts[i]) || encodeLayer(layer))
    : [];
  before = { layers, parts };
  if (parts.length === 0) return Buffer.from(encode(report));
  return Buffer.concat([encode({ ...report, details: [] }), ...parts]);
}

/** Protobuf messages can be concatenated: a message with one layer is the encoded part of that layer. */
function encodeLayer(layer: LayerMessage): Uint8Array {
  return encode({ imageRef: "", offset: undefined, total: undefined, details: [layer] });
}

function encode(message: PullImageWithProgressResponse): Uint8Array {
  return PullImageWithProgressResponse.encode(message).finish();
}

/** Granularity of the progress reports of a pull. */
export type ReportGranularity =
  | { readonly kind: "time"; readonly intervalMs: number }
  | { readonly kind: "size"; readonly intervalBytes: number }
  | { readonly kind: "none" };

/** Intervals that replace 0. */
const defaultIntervals = { timeMs: 60_000, sizeBytes: 2 ** 30 } as const;

/** Granularity requested by a client, with default intervals; undefined for an unknown type. */
export function requestedGranularity({
  granularityType,
  interval,
}: Pick<PullImageWithProgressRequest, "granularityType" | "interval">): ReportGranularity | undefined {
  const amount = Number(interval?.value ?? 0n);
  switch (granularityType) {
    case 0:
      return withDefaults({ kind: "size", intervalBytes: amount });
    case 1:
      return withDefaults({ kind: "time", intervalMs: 1_000 * amount });
    case 2:
      return { kind: "none" };
    default:
      return undefined;
  }
}

/** Replaces intervals of 0 by the runtime's defaults. */
export function withDefaults(granularity: ReportGranularity): ReportGranularity {
  if (granularity.kind === "time" && granularity.intervalMs <= 0) {
    return { kind: "time", intervalMs: defaultIntervals.timeMs };
  }
  if (granularity.kind === "size" && granularity.intervalBytes <= 0) {
    return { kind: "size", intervalBytes: defaultIntervals.sizeBytes };
  }
  return granularity;
}

/** Reported bytes of a pull, and the current allowance of further reports. */
interface SizeMeter {
  readonly offset: number;
  readonly allowance: number;
  readonly atMs: number;
}

type SizeDecision =
  | { readonly kind: "quiet" | "report"; readonly meter: SizeMeter }
  /** A report is due, but the rate limit is exceeded: check again after the delay. */
  | { readonly kind: "postpone"; readonly waitMs: number };

/**
 * Maximum rate of reports, regardless of the requested interval. A report takes a quarter of a millisecond, so this limits
 * them to 1 % of a core.
 */
const reportsPerMs = 40 / 1_000;
/** Burst size, so that short pulls are reported completely. */
const maxAllowance = 32;

export function startSizeMeter(now: number): SizeMeter {
  return { offset: 0, allowance: maxAllowance, atMs: now };
}

/** Decides whether a report by size is due. */
export function meterBySize(
  meter: SizeMeter,
  { intervalBytes, offset, now }: { intervalBytes: number; offset: number; now: number },
): SizeDecision {
  // A download that restarted from the beginning.
  if (offset < meter.offset) return { kind: "quiet", meter: { ...meter, offset } };
  if (offset - meter.offset < intervalBytes) return { kind: "quiet", meter };
  const grown = Math.max(0, now - meter.atMs) * reportsPerMs;
  const allowance = Math.min(maxAllowance, meter.allowance + grown);
  if (allowance < 1) return { kind: "postpone", waitMs: Math.ceil((1 - allowance) / reportsPerMs) };
  return { kind: "report", meter: { offset, allowance: allowance - 1, atMs: now } };
}

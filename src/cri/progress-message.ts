import type { LayerProgress, PullProgress } from "../lib/image/pull-progress.ts";
import { type LayerProgress as LayerMessage, PullImageWithProgressResponse } from "./generated/cri.ts";

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

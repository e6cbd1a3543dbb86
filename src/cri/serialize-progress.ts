import { type LayerProgress, PullImageWithProgressResponse } from "./generated/cri.ts";

/** A layer as its report has it. */
const encoded = new WeakMap<LayerProgress, Uint8Array>();

/**
 * As the generated code does, but a layer that was told of before is not encoded again: between two reports of an image
 * of forty layers four of them change, and encoding is most of what a report costs.
 */
export function serializeProgress({ details, ...summary }: PullImageWithProgressResponse): Buffer {
  return Buffer.concat([encode({ ...summary, details: [] }), ...details.map(encodeLayer)]);
}

/** The bytes of a message's fields may be put one after the other: a message with this layer alone is the layer's part. */
function encodeLayer(layer: LayerProgress): Uint8Array {
  const known = encoded.get(layer);
  if (known) return known;
  const bytes = encode({ imageRef: "", offset: undefined, total: undefined, details: [layer] });
  encoded.set(layer, bytes);
  return bytes;
}

function encode(message: PullImageWithProgressResponse): Uint8Array {
  return PullImageWithProgressResponse.encode(message).finish();
}

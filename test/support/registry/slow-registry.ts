import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type FakeRegistry, layerOf, startFakeRegistry } from "./fake-registry.ts";

/** Serves an image of unique layers in this many pieces with this delay between them; stalls after `stallAfter` pieces. */
export async function startSlowRegistry(options: {
  readonly layerBytes: readonly number[];
  readonly pieces: number;
  readonly pauseMs: number;
  readonly stallAfter?: number;
  /** What the second half of each layer waits for. */
  readonly beforeTheRest?: Promise<void>;
}): Promise<FakeRegistry & { cancelled(): number }> {
  const layers = options.layerBytes.map((size, i) => layerOf(`file-${i}`, randomBytes(size)));
  let cancelled = 0;
  const registry = await startFakeRegistry({
    layers,
    async handle(request, response) {
      const blob = registry.layers.find(({ digest }) => request.url?.endsWith(digest));
      if (!blob) return false;
      let open = true;
      response.on("close", () => {
        if (!response.writableFinished) cancelled++;
        open = false;
      });
      response.writeHead(200, { "content-length": blob.bytes.length });
      const size = Math.ceil(blob.bytes.length / options.pieces);
      for (let piece = 0; piece < options.pieces && open; piece++) {
        if (piece === options.stallAfter) return true;
        if (piece === options.pieces / 2) await options.beforeTheRest;
        response.write(blob.bytes.subarray(piece * size, (piece + 1) * size));
        await delay(options.pauseMs);
      }
      response.end();
      return true;
    },
  });
  return { ...registry, cancelled: () => cancelled };
}

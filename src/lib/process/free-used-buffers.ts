import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes of unused buffers after which a minor collection runs. */
const maxUnusedBytes = 4 << 20;
let usedBytes = 0;

/**
 * Frees the memory of buffers that were used once; call it with the size of each. V8 hardly counts external memory when
 * it schedules collections: without this, 13 MB pile up in a thread that inflates and 40 MB in one that decodes zstd or
 * downloads. A minor collection takes a third of a millisecond.
 */
export function freeUsedBuffers(bytes: number): void {
  usedBytes += bytes;
  if (usedBytes < maxUnusedBytes) return;
  usedBytes = 0;
  collectGarbage("minor");
}

type Collector = (options?: { type: "minor" | "major" }) => unknown;

let collector: Collector | undefined;

/** Runs V8's garbage collector now, also in a process that was started without `--expose-gc`. */
export function collectGarbage(type: "minor" | "major"): void {
  collector ??= (globalThis.gc as Collector | undefined) ?? exposeCollector();
  collector({ type });
}

/** Gets V8's gc function in a process started without `--expose-gc`: only a context created with the flag has it. */
function exposeCollector(): Collector {
  setFlagsFromString("--expose-gc");
  const exposed: unknown = runInNewContext("globalThis.gc");
  setFlagsFromString("--no-expose-gc");
  return typeof exposed === "function" ? (options) => exposed(options) : () => {};
}

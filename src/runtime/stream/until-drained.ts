/** A pipe that has nothing for this long, with its writer gone, is empty. */
const idleMs = 100;
/** More than any pipe holds: whoever still writes then is somebody else. */
const mostBytesAfterEnd = 4 * 1_024 * 1_024;

/**
 * What comes from a stream until it ends, or until it is empty after `ended`: a process that was left running in the
 * background may hold it open for ever, and write to it too.
 */
export async function* untilDrained(
  stream: NodeJS.ReadableStream,
  ended: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  const chunks = stream[Symbol.asyncIterator]();
  let bytesAfterEnd = 0;
  try {
    while (bytesAfterEnd < mostBytesAfterEnd) {
      const next = await orIdle(chunks.next(), ended);
      if (!next || next.done) return;
      const chunk = Buffer.from(next.value);
      if (ended?.aborted) bytesAfterEnd += chunk.length;
      yield chunk;
    }
  } finally {
    // Not awaited: it would wait for the chunk that never comes.
    if ("destroy" in stream && typeof stream.destroy === "function") stream.destroy();
  }
}

/** The promise's value; undefined when it takes long after `ended`. */
function orIdle<T>(promise: Promise<T>, ended: AbortSignal | undefined): Promise<T | undefined> {
  if (!ended) return promise;
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const startTimer = () => {
      timer = setTimeout(() => resolve(undefined), idleMs);
    };
    if (ended.aborted) startTimer();
    else ended.addEventListener("abort", startTimer, { once: true });
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      ended.removeEventListener("abort", startTimer);
    });
  });
}

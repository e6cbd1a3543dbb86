import type { AttachStreams, ExecProcess } from "../drivers/driver.ts";
import type { OutputChannel, StreamSession, TerminalSize } from "./stream-session.ts";

export interface WantedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** Connects a client to a process until the process exits. The process is killed when the client disconnects. */
export async function serveExec(
  session: StreamSession,
  process: ExecProcess,
  wanted: WantedStreams,
): Promise<void> {
  const kill = () => void process.kill().catch(() => {});
  session.closed.addEventListener("abort", kill, { once: true });
  if (session.closed.aborted) kill();
  connectInput(session, process, wanted);
  const ended = new AbortController();
  const exited = process.exitCode.finally(() => ended.abort());
  const [exitCode] = await Promise.all([
    exited,
    pumpOutputs(session, process, { wanted, ended: ended.signal }),
  ]);
  session.closed.removeEventListener("abort", kill);
  await session.finish({ kind: "exited", exitCode });
}

/** Connects a client to a container's own streams until either closes; the container is not affected. */
export async function serveAttach(
  session: StreamSession,
  streams: AttachStreams,
  wanted: WantedStreams,
): Promise<void> {
  session.closed.addEventListener("abort", () => streams.close(), { once: true });
  if (session.closed.aborted) streams.close();
  connectInput(session, streams, wanted);
  await pumpOutputs(session, streams, { wanted });
  streams.close();
  await session.finish({ kind: "exited", exitCode: 0 });
}

type Ends = Pick<AttachStreams, "stdin" | "stdout" | "stderr" | "resize">;

function connectInput(session: StreamSession, ends: Ends, { stdin }: WantedStreams): void {
  session.onResize((size) => resize(ends, size));
  if (!stdin || !ends.stdin) return;
  // The process may exit, or close its input, while the client still sends.
  ends.stdin.on("error", () => session.stdin.resume());
  session.stdin.pipe(ends.stdin);
}

function resize(ends: Ends, { columns, rows }: TerminalSize): void {
  ends.resize(columns, rows).catch(() => {});
}

interface PumpOptions {
  readonly wanted: WantedStreams;
  /** Aborts when the process has exited: only output that is already buffered is read after that. */
  readonly ended?: AbortSignal;
}

async function pumpOutputs(
  session: StreamSession,
  ends: Ends,
  { wanted, ended }: PumpOptions,
): Promise<void> {
  await Promise.all([
    pump(session, { stream: ends.stdout, channel: "stdout", wanted: wanted.stdout, ended }),
    ends.stderr && pump(session, { stream: ends.stderr, channel: "stderr", wanted: wanted.stderr, ended }),
  ]);
}

interface Pump {
  readonly stream: NodeJS.ReadableStream;
  readonly channel: OutputChannel;
  readonly wanted: boolean;
  readonly ended: AbortSignal | undefined;
}

/** Copies output to its end, also for a client that does not want it, because a full pipe would block the process. */
async function pump(session: StreamSession, { stream, channel, wanted, ended }: Pump): Promise<void> {
  try {
    for await (const chunk of untilDrained(stream, ended)) {
      if (wanted && !session.closed.aborted) await session.write(channel, chunk);
    }
  } catch (error) {
    if (!session.closed.aborted) throw error;
  }
}

/** Time without data after which a pipe whose writer has exited counts as empty. */
const idleMs = 100;
/** Maximum number of bytes after the end; more than a pipe holds, so another process is writing. */
const maxBytesAfterEnd = 4 * 1_024 * 1_024;

/**
 * Data of a stream until it ends, or until it is empty after `ended`: a process that was left in the background may
 * hold it open forever and write to it.
 */
async function* untilDrained(
  stream: NodeJS.ReadableStream,
  ended: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  const chunks = stream[Symbol.asyncIterator]();
  let bytesAfterEnd = 0;
  try {
    while (bytesAfterEnd < maxBytesAfterEnd) {
      const next = await orIdle(chunks.next(), ended);
      if (!next || next.done) return;
      const chunk = Buffer.from(next.value);
      if (ended?.aborted) bytesAfterEnd += chunk.length;
      yield chunk;
    }
  } finally {
    // Not awaited, because it would wait for a chunk that never arrives.
    if ("destroy" in stream && typeof stream.destroy === "function") stream.destroy();
  }
}

/** Resolves with the promise's value, or undefined when it takes too long after `ended`. */
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

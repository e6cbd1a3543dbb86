import type { AttachStreams, ExecProcess } from "../driver/driver.ts";
import type { OutputChannel, StreamSession, TerminalSize } from "./stream-session.ts";
import { untilDrained } from "./until-drained.ts";

export interface WantedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** Connects a client with a process until the process ends. A client that goes away takes the process with it. */
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

/** Connects a client with a container's own streams until either goes; the container does not notice. */
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
  // The process may end, or close its input, while the client still types.
  ends.stdin.on("error", () => session.stdin.resume());
  session.stdin.pipe(ends.stdin);
}

function resize(ends: Ends, { columns, rows }: TerminalSize): void {
  ends.resize(columns, rows).catch(() => {});
}

interface PumpOptions {
  readonly wanted: WantedStreams;
  /** Aborts when the process has ended: what it wrote is there, and only that is waited for. */
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

/** Reads to the end even when nobody listens: a full pipe would hold the process up. */
async function pump(session: StreamSession, { stream, channel, wanted, ended }: Pump): Promise<void> {
  try {
    for await (const chunk of untilDrained(stream, ended)) {
      if (wanted && !session.closed.aborted) await session.write(channel, chunk);
    }
  } catch (error) {
    if (!session.closed.aborted) throw error;
  }
}

import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { acceptSpdyUpgrade, openSpdy, type SpdyStream } from "./spdy-connection.ts";
import {
  createSizeRelay,
  type OfferedStreams,
  outcomeStatus,
  parseTerminalSize,
  type StreamSession,
} from "./stream-session.ts";

const protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const streamTypes = ["error", "stdin", "stdout", "stderr", "resize"] as const;
type StreamType = (typeof streamTypes)[number];

/** Time in which a client must open its streams, as in other runtimes. */
const openTimeoutMs = 30_000;
/** Limit of frames with headers; a client opens at most five streams. */
const maxHeaderFrames = 100;
/** Maximum length of an incomplete terminal size. */
const maxSizeLength = 1_024;

interface SpdyOptions {
  readonly socket: Socket;
  readonly head: Buffer;
  readonly streams: OfferedStreams;
}

/**
 * Accepts the handshake and waits until the client has opened every requested stream. Otherwise rejects or closes the
 * connection and returns undefined.
 */
export async function acceptSpdy(
  request: IncomingMessage,
  options: SpdyOptions,
): Promise<StreamSession | undefined> {
  const protocol = acceptSpdyUpgrade(request, options.socket, protocols);
  return protocol === undefined ? undefined : openSession(options);
}

async function openSession({ socket, head, streams }: SpdyOptions): Promise<StreamSession | undefined> {
  const stdin = new PassThrough();
  const closed = new AbortController();
  const sizes = createSizeRelay();
  const readSizes = createSizeReader(sizes.send);
  const wanted = wantedTypes(streams);
  const ready = new AbortController();
  const opened = new Map<StreamType, SpdyStream>();
  const connection = openSpdy({
    socket,
    head,
    maxStreams: streamTypes.length,
    maxHeaderFrames,
    onOpen(stream) {
      const type = streamTypes.find((known) => known === stream.headers.get("streamtype"));
      if (!type || opened.has(type)) return undefined;
      opened.set(type, stream);
      if (wanted.every((other) => opened.has(other))) ready.abort();
      return {
        async onData(data) {
          if (type === "resize") readSizes(data);
          if (type === "stdin" && !stdin.writableEnded && !stdin.write(data))
            await once(stdin, "drain", { signal: closed.signal });
        },
        onEnd() {
          if (type === "stdin") stdin.end();
        },
      };
    },
  });
  socket.on("close", () => {
    stdin.end();
    closed.abort(new Error("the client went away"));
  });
  if (!(await abortedFirst(ready.signal, closed.signal))) {
    socket.destroy();
    return undefined;
  }
  if (!opened.has("stdin")) stdin.end();

  return {
    stdin,
    closed: closed.signal,
    async write(channel, data) {
      if (opened.get(channel)?.write(data) === false && !closed.signal.aborted)
        await once(socket, "drain", { signal: closed.signal });
    },
    onResize: sizes.listen,
    async finish(outcome) {
      opened.get("stdout")?.end();
      opened.get("stderr")?.end();
      opened.get("error")?.end(Buffer.from(outcomeStatus(outcome)));
      opened.get("stdin")?.end();
      connection.goAway();
    },
  };
}

/** Whether the first signal aborts in time and before the second. */
function abortedFirst(first: AbortSignal, second: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const tooLate = setTimeout(() => resolve(false), openTimeoutMs);
    for (const signal of [first, second])
      signal.addEventListener("abort", () => {
        clearTimeout(tooLate);
        resolve(signal === first);
      });
  });
}

/** Creates a parser of consecutive terminal sizes `{"Width":80,"Height":24}`, which may be split anywhere. */
function createSizeReader(onSize: ReturnType<typeof createSizeRelay>["send"]): (data: Buffer) => void {
  let unfinished = "";
  return (data) => {
    const texts = (unfinished + data.toString("utf8")).split(/(?<=\})/);
    unfinished = texts.at(-1)?.endsWith("}") ? "" : (texts.pop() ?? "").slice(-maxSizeLength);
    for (const text of texts) {
      const size = parseTerminalSize(text);
      if (size) onSize(size);
    }
  };
}

/** Streams that clients open, as kubectl and crictl do. */
function wantedTypes({ stdin, stdout, stderr, tty }: OfferedStreams): StreamType[] {
  const wanted = { error: true, stdin, stdout, stderr: stderr && !tty, resize: tty };
  return streamTypes.filter((type) => wanted[type]);
}

import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { openSpdy } from "./spdy-connection.ts";
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

/** As in other runtimes: a client that does not open its streams in this time is hung up on. */
const openWithinMs = 30_000;
/** Sizes are short; what does not end is none. */
const mostSizeLength = 1_024;

interface SpdyOptions {
  readonly socket: Socket;
  readonly head: Buffer;
  readonly streams: OfferedStreams;
}

/**
 * Answers the handshake and waits until the client has opened every stream that was asked for. Undefined, with the
 * connection refused or closed, when it does not get that far.
 */
export async function acceptSpdy(
  request: IncomingMessage,
  options: SpdyOptions,
): Promise<StreamSession | undefined> {
  const offered = (request.headersDistinct["x-stream-protocol-version"] ?? [])
    .flatMap((line) => line.split(","))
    .map((name) => name.trim());
  const protocol = offered.find((name) => protocols.includes(name));
  if (!protocol) {
    options.socket.end(refusal(offered));
    return undefined;
  }
  options.socket.write(
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n" +
      `X-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
  );
  return openSession(options);
}

function refusal(offered: readonly string[]): string {
  const accepted = protocols.map((name) => `X-Accepted-Stream-Protocol-Versions: ${name}\r\n`).join("");
  const body = `unable to upgrade: unable to negotiate protocol: client supports [${offered.join(" ")}], server accepts [${protocols.join(" ")}]\n`;
  return `HTTP/1.1 403 Forbidden\r\n${accepted}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
}

async function openSession({ socket, head, streams }: SpdyOptions): Promise<StreamSession | undefined> {
  const stdin = new PassThrough();
  const closed = new AbortController();
  const sizes = createSizeRelay();
  const readSizes = createSizeReader(sizes.tell);
  const wanted = wantedTypes(streams);
  const ready = new AbortController();
  const connection = openSpdy<StreamType>({
    socket,
    head,
    types: streamTypes,
    onOpen() {
      if (wanted.every((type) => connection.has(type))) ready.abort();
    },
    async onData(type, data) {
      if (type === "resize") readSizes(data);
      if (type === "stdin" && !stdin.writableEnded && !stdin.write(data))
        await once(stdin, "drain", { signal: closed.signal });
    },
    onEnd(type) {
      if (type === "stdin") stdin.end();
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
  if (!connection.has("stdin")) stdin.end();

  return {
    stdin,
    closed: closed.signal,
    async write(channel, data) {
      if (!connection.write(channel, data) && !closed.signal.aborted)
        await once(socket, "drain", { signal: closed.signal });
    },
    onResize: sizes.listen,
    async finish(outcome) {
      connection.end("stdout");
      connection.end("stderr");
      connection.end("error", Buffer.from(outcomeStatus(outcome)));
      connection.end("stdin");
      connection.goAway();
    },
  };
}

/** Whether the first signal aborts, in time and before the second. */
function abortedFirst(first: AbortSignal, second: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const tooLate = setTimeout(() => resolve(false), openWithinMs);
    for (const signal of [first, second])
      signal.addEventListener("abort", () => {
        clearTimeout(tooLate);
        resolve(signal === first);
      });
  });
}

/** Sizes come one after the other, each `{"Width":80,"Height":24}`, cut anywhere. */
function createSizeReader(tell: ReturnType<typeof createSizeRelay>["tell"]): (data: Buffer) => void {
  let unfinished = "";
  return (data) => {
    const texts = (unfinished + data.toString("utf8")).split(/(?<=\})/);
    unfinished = texts.at(-1)?.endsWith("}") ? "" : (texts.pop() ?? "").slice(-mostSizeLength);
    for (const text of texts) {
      const size = parseTerminalSize(text);
      if (size) tell(size);
    }
  };
}

/** Clients open exactly these, as kubectl and crictl do. */
function wantedTypes({ stdin, stdout, stderr, tty }: OfferedStreams): StreamType[] {
  const asked = { error: true, stdin, stdout, stderr: stderr && !tty, resize: tty };
  return streamTypes.filter((type) => asked[type]);
}

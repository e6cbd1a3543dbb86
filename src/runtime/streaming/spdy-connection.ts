import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import {
  createSpdyDecoder,
  refusedStream,
  type SpdyFrame,
  streamCancelled,
  writeData,
  writeGoAway,
  writePing,
  writeReply,
  writeReset,
} from "./spdy-frames.ts";
import { createEmptyHeaderWriter, createSpdyHeaderReader } from "./spdy-headers.ts";

/** Server side of a SPDY connection on which only the client opens streams. */
export interface SpdyConnection {
  /** Closes the connection once everything is sent. */
  goAway(): void;
}

/** Stream that a client has opened. Data that is written after its end or its reset is dropped. */
export interface SpdyStream {
  readonly id: number;
  /** Names are in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** Writes data. Returns false when the socket is full until its `drain`. */
  write(data: Buffer): boolean;
  /** Writes the last data. */
  end(data?: Buffer): void;
  /** Ends the stream in both directions at once. */
  reset(): void;
}

interface SpdyStreamListener {
  /** Handles data. No more is read from the client, on any stream, until it resolves. */
  onData(data: Buffer): Promise<void> | void;
  /** Called once, when the client has ended or reset the stream. */
  onEnd(how: "ended" | "reset"): void;
}

interface SpdyOptions {
  readonly socket: Duplex;
  /** Data that the client has already sent after its request. */
  readonly head: Buffer;
  /** Limit of streams that are open at the same time. */
  readonly maxStreams: number;
  /** Limit of frames with headers: of streams that a client may open one after the other. */
  readonly maxHeaderFrames: number;
  /** Returns undefined to refuse the stream. */
  onOpen(stream: SpdyStream): SpdyStreamListener | undefined;
}

interface OpenStream {
  readonly listener: SpdyStreamListener;
  /** Whether each side may still send. */
  receiving: boolean;
  sending: boolean;
}

/** Opens a connection. Invalid or oversized frames close the socket. */
export function openSpdy(options: SpdyOptions): SpdyConnection {
  const { socket, head, maxStreams, maxHeaderFrames, onOpen } = options;
  const streams = new Map<number, OpenStream>();
  const headerReader = createSpdyHeaderReader({ maxBlocks: maxHeaderFrames });
  const emptyHeaders = createEmptyHeaderWriter();
  let lastStreamId = 0;

  const closed = new AbortController();
  socket.once("close", () => closed.abort());
  const drained = () => once(socket, "drain", { signal: closed.signal });
  const send = (frame: Buffer) => (socket.writable ? socket.write(frame) : true);

  function forgetIfClosed(id: number, { receiving, sending }: OpenStream): void {
    if (!receiving && !sending) streams.delete(id);
  }

  /** The client ends a stream; after a reset, nothing is sent to it either. */
  function ended(id: number, how: "ended" | "reset"): void {
    const stream = streams.get(id);
    if (!stream) return;
    const wasReceiving = stream.receiving;
    stream.receiving = false;
    if (how === "reset") stream.sending = false;
    forgetIfClosed(id, stream);
    if (wasReceiving || how === "reset") stream.listener.onEnd(how);
  }

  function createStream(id: number, headers: ReadonlyMap<string, string>): SpdyStream {
    const write = (data: Buffer, flags: { fin?: boolean } = {}) => {
      const stream = streams.get(id);
      if (!stream?.sending) return true;
      if (flags.fin) {
        stream.sending = false;
        forgetIfClosed(id, stream);
      }
      return send(writeData(id, data, flags));
    };
    return {
      id,
      headers,
      write: (data) => write(data),
      end: (data = Buffer.alloc(0)) => void write(data, { fin: true }),
      reset() {
        if (streams.delete(id)) send(writeReset(id, streamCancelled));
      },
    };
  }

  async function open({ streamId: id, headers, fin }: Extract<SpdyFrame, { kind: "open" }>): Promise<void> {
    // Read even when the stream is rejected, because the next headers are compressed with these.
    const stream = createStream(id, await headerReader.read(headers));
    if (id % 2 === 0 || id <= lastStreamId) throw new Error(`stream ${id} is out of order`);
    lastStreamId = id;
    const listener = streams.size < maxStreams ? onOpen(stream) : undefined;
    if (!listener) return void send(writeReset(id, refusedStream));
    streams.set(id, { listener, receiving: true, sending: true });
    // Sent at once: clients wait for it before they open the next stream, and drop data that arrives earlier.
    send(writeReply(id, emptyHeaders()));
    if (fin) ended(id, "ended");
  }

  async function receive(frame: SpdyFrame): Promise<void> {
    switch (frame.kind) {
      case "open":
        return open(frame);
      case "data": {
        const stream = streams.get(frame.streamId);
        if (stream?.receiving && frame.data.length > 0) await stream.listener.onData(frame.data);
        if (frame.fin) ended(frame.streamId, "ended");
        return;
      }
      case "headers":
        await headerReader.read(frame.headers);
        if (frame.fin) ended(frame.streamId, "ended");
        return;
      case "reset":
        return ended(frame.streamId, "reset");
      case "ping":
        // Even numbers would be responses to pings of the server, which sends none. A client that does not read is not
        // read.
        if (frame.id % 2 === 1 && !send(writePing(frame.id))) await drained();
        return;
      case "goAway":
        return void socket.end();
      case "ignored":
        return;
    }
  }

  async function readFrames(): Promise<void> {
    const decoder = createSpdyDecoder();
    if (head.length > 0) socket.unshift(head);
    for await (const bytes of socket) for (const frame of decoder.push(bytes)) await receive(frame);
  }
  readFrames()
    .catch(() => {})
    .finally(() => {
      headerReader.close();
      socket.destroy();
    });

  return {
    goAway() {
      send(writeGoAway(lastStreamId));
      socket.end();
    },
  };
}

/**
 * Answers an upgrade to SPDY with the first protocol of the client that is supported. Otherwise rejects it and returns
 * undefined.
 */
export function acceptSpdyUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  protocols: readonly string[],
): string | undefined {
  const offered = (request.headersDistinct["x-stream-protocol-version"] ?? [])
    .flatMap((line) => line.split(","))
    .map((name) => name.trim());
  const protocol = offered.find((name) => protocols.includes(name));
  if (protocol === undefined) {
    socket.end(rejection(offered, protocols));
    return undefined;
  }
  socket.write(
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n" +
      `X-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
  );
  return protocol;
}

function rejection(offered: readonly string[], protocols: readonly string[]): string {
  const accepted = protocols.map((name) => `X-Accepted-Stream-Protocol-Versions: ${name}\r\n`).join("");
  const body = `unable to upgrade: unable to negotiate protocol: client supports [${offered.join(" ")}], server accepts [${protocols.join(" ")}]\n`;
  return `HTTP/1.1 403 Forbidden\r\n${accepted}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
}

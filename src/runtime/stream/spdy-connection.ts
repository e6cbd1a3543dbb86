import { once } from "node:events";
import type { Duplex } from "node:stream";
import {
  createSpdyDecoder,
  refusedStream,
  type SpdyFrame,
  writeData,
  writeGoAway,
  writePing,
  writeReply,
  writeReset,
} from "./spdy-frames.ts";
import { createEmptyHeaderWriter, createSpdyHeaderReader } from "./spdy-headers.ts";

/** The server's end of a SPDY connection whose client opens one stream of each type. */
export interface SpdyConnection<Type extends string> {
  has(type: Type): boolean;
  /** False when there is no room for more until the socket's `drain`. A stream that is not there takes everything. */
  write(type: Type, data: Buffer): boolean;
  /** The last data of a stream. */
  end(type: Type, data?: Buffer): void;
  /** No more from here: closes once everything is sent. */
  goAway(): void;
}

interface SpdyOptions<Type extends string> {
  readonly socket: Duplex;
  /** What the client sent behind its request already. */
  readonly head: Buffer;
  readonly types: readonly Type[];
  onOpen(type: Type): void;
  /** While it is awaited, nothing more is read from the client. */
  onData(type: Type, data: Buffer): Promise<void> | void;
  onEnd(type: Type): void;
}

/** Whatever is not SPDY, or too much, closes the socket. */
export function openSpdy<Type extends string>(options: SpdyOptions<Type>): SpdyConnection<Type> {
  const { socket, head, types, onOpen, onData, onEnd } = options;
  const streams = new Map<Type, number>();
  /** The client does not want to hear of these any more. */
  const deaf = new Set<number>();
  const headerReader = createSpdyHeaderReader();
  const emptyHeaders = createEmptyHeaderWriter();
  let lastStreamId = 0;

  const closed = new AbortController();
  socket.once("close", () => closed.abort());
  const drained = () => once(socket, "drain", { signal: closed.signal });
  const send = (frame: Buffer) => (socket.writable ? socket.write(frame) : true);
  const typeOf = (streamId: number) => [...streams].find(([, id]) => id === streamId)?.[0];
  function ended(streamId: number): void {
    const type = typeOf(streamId);
    if (type) onEnd(type);
  }

  async function open({ streamId, headers, fin }: Extract<SpdyFrame, { kind: "open" }>): Promise<void> {
    // Read even when it is refused: the next one's headers are compressed with these.
    const name = (await headerReader.read(headers)).get("streamtype");
    if (streamId % 2 === 0 || streamId <= lastStreamId) throw new Error(`stream ${streamId} is out of order`);
    lastStreamId = streamId;
    const type = types.find((known) => known === name);
    if (!type || streams.has(type)) return void send(writeReset(streamId, refusedStream));
    streams.set(type, streamId);
    // At once: clients wait for it before they open the next, and drop data that comes earlier.
    send(writeReply(streamId, emptyHeaders()));
    onOpen(type);
    if (fin) onEnd(type);
  }

  async function receive(frame: SpdyFrame): Promise<void> {
    switch (frame.kind) {
      case "open":
        return open(frame);
      case "data": {
        const type = typeOf(frame.streamId);
        if (type && frame.data.length > 0) await onData(type, frame.data);
        if (frame.fin) ended(frame.streamId);
        return;
      }
      case "headers":
        await headerReader.read(frame.headers);
        if (frame.fin) ended(frame.streamId);
        return;
      case "reset":
        if (typeOf(frame.streamId)) deaf.add(frame.streamId);
        return ended(frame.streamId);
      case "ping":
        // Even numbers would be the answers to our own, and we send none. Who asks and does not read is not read either.
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

  function write(type: Type, data: Buffer, flags: { fin?: boolean } = {}): boolean {
    const streamId = streams.get(type);
    return streamId === undefined || deaf.has(streamId) || send(writeData(streamId, data, flags));
  }
  return {
    has: (type) => streams.has(type),
    write: (type, data) => write(type, data),
    end: (type, data = Buffer.alloc(0)) => void write(type, data, { fin: true }),
    goAway() {
      send(writeGoAway(lastStreamId));
      socket.end();
    },
  };
}

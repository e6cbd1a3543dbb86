// Frames of SPDY/3.1 that exec, attach and port-forward need, for a server. Pure.

export type SpdyFrame =
  | { readonly kind: "open"; readonly streamId: number; readonly fin: boolean; readonly headers: Buffer }
  /** Data. A long frame arrives in parts, of which only the last can have `fin`. */
  | { readonly kind: "data"; readonly streamId: number; readonly fin: boolean; readonly data: Buffer }
  | { readonly kind: "reset"; readonly streamId: number }
  | { readonly kind: "headers"; readonly streamId: number; readonly fin: boolean; readonly headers: Buffer }
  | { readonly kind: "ping"; readonly id: number }
  | { readonly kind: "goAway" }
  /** Settings and window updates: flow control is left to TCP, as in the streaming servers of other runtimes. */
  | { readonly kind: "ignored" };

const version = 3;
const types = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;
const finFlag = 0x01;
const headerSize = 8;
/** Maximum size of a control frame, which carries a few short headers. */
const maxControlBytes = 16 * 1_024;

/** SPDY's status code REFUSED_STREAM. */
export const refusedStream = 3;
/** SPDY's status code CANCEL. */
export const streamCancelled = 5;

export interface SpdyDecoder {
  /** Returns the frames that end in these bytes, and parts of data frames. Throws for invalid frames. */
  push(bytes: Buffer): SpdyFrame[];
}

export function createSpdyDecoder(): SpdyDecoder {
  let pending: Buffer = Buffer.alloc(0);
  /** Data frame that is being read. */
  let open: { streamId: number; fin: boolean; left: number } | undefined;

  function nextData(frame: NonNullable<typeof open>): SpdyFrame | undefined {
    const data = pending.subarray(0, frame.left);
    const left = frame.left - data.length;
    pending = pending.subarray(data.length);
    open = left > 0 ? { ...frame, left } : undefined;
    if (left > 0 && data.length === 0) return undefined;
    return { kind: "data", streamId: frame.streamId, data, fin: frame.fin && left === 0 };
  }

  function next(): SpdyFrame | undefined {
    if (open) return nextData(open);
    if (pending.length < headerSize) return undefined;
    const first = pending.readUInt32BE(0);
    const flags = pending.readUInt8(4);
    const length = pending.readUIntBE(5, 3);
    if ((first & 0x80000000) === 0) {
      pending = pending.subarray(headerSize);
      return nextData({ streamId: first, fin: (flags & finFlag) !== 0, left: length });
    }
    if (((first >>> 16) & 0x7fff) !== version) throw new Error("not SPDY/3");
    if (length > maxControlBytes) throw new Error(`a control frame of ${length} bytes is too long`);
    if (pending.length < headerSize + length) return undefined;
    const payload = pending.subarray(headerSize, headerSize + length);
    pending = pending.subarray(headerSize + length);
    return readControl(first & 0xffff, flags, payload);
  }

  return {
    push(bytes) {
      pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes]);
      const frames: SpdyFrame[] = [];
      for (let frame = next(); frame; frame = next()) frames.push(frame);
      return frames;
    },
  };
}

function readControl(type: number, flags: number, payload: Buffer): SpdyFrame {
  const fin = (flags & finFlag) !== 0;
  const streamId = () => payload.readUInt32BE(0) & 0x7fffffff;
  switch (type) {
    case types.synStream:
      if (payload.length < 10) throw new Error("a SYN_STREAM that is too short");
      return { kind: "open", streamId: streamId(), fin, headers: payload.subarray(10) };
    case types.headers:
      if (payload.length < 4) throw new Error("a HEADERS that is too short");
      return { kind: "headers", streamId: streamId(), fin, headers: payload.subarray(4) };
    case types.rstStream:
      if (payload.length !== 8) throw new Error("a RST_STREAM of the wrong length");
      return { kind: "reset", streamId: streamId() };
    case types.ping:
      if (payload.length !== 4) throw new Error("a PING of the wrong length");
      return { kind: "ping", id: payload.readUInt32BE(0) };
    case types.goAway:
      return { kind: "goAway" };
    case types.settings:
    case types.windowUpdate:
      return { kind: "ignored" };
    default:
      // Includes SYN_REPLY: the server opens no streams that a client could reply to.
      throw new Error(`a control frame of type ${type} is not expected`);
  }
}

export function writeData(streamId: number, data: Buffer, { fin = false }: { fin?: boolean } = {}): Buffer {
  const header = Buffer.alloc(headerSize);
  header.writeUInt32BE(streamId, 0);
  header.writeUInt8(fin ? finFlag : 0, 4);
  header.writeUIntBE(data.length, 5, 3);
  return Buffer.concat([header, data]);
}

/** Writes SYN_REPLY; `headers` is a compressed block. */
export function writeReply(streamId: number, headers: Buffer): Buffer {
  return writeControl(types.synReply, Buffer.concat([uint32(streamId), headers]));
}

export function writeReset(streamId: number, reason: number): Buffer {
  return writeControl(types.rstStream, Buffer.concat([uint32(streamId), uint32(reason)]));
}

export function writePing(id: number): Buffer {
  return writeControl(types.ping, uint32(id));
}

export function writeGoAway(lastStreamId: number): Buffer {
  return writeControl(types.goAway, Buffer.concat([uint32(lastStreamId), uint32(0)]));
}

function writeControl(type: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(headerSize);
  header.writeUInt16BE(0x8000 | version, 0);
  header.writeUInt16BE(type, 2);
  header.writeUIntBE(payload.length, 5, 3);
  return Buffer.concat([header, payload]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}

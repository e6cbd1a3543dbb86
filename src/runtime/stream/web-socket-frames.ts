// The part of RFC 6455 that a server of small binary messages needs. Pure.

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface Frame {
  readonly final: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
}

/** More than any client sends in one frame or message; a length beyond it is an attack or not WebSocket at all. */
export const mostPayloadBytes = 16 * 1_024 * 1_024;

/** The first frame in the bytes, unmasked, and how many bytes it took; undefined while it is not complete. */
export function readFrame(bytes: Buffer): { frame: Frame; size: number } | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  if ((second & 0x80) === 0) throw new Error("a client's frames must be masked");
  const short = second & 0x7f;
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const headerSize = 2 + lengthBytes + 4;
  if (bytes.length < headerSize) return undefined;
  const length =
    lengthBytes === 0 ? short : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (length > mostPayloadBytes) throw new Error(`a frame of ${length} bytes is too long`);
  const size = headerSize + length;
  if (bytes.length < size) return undefined;
  const mask = bytes.subarray(headerSize - 4, headerSize);
  const payload = Buffer.alloc(length);
  for (let i = 0; i < length; i++) payload[i] = (bytes[headerSize + i] ?? 0) ^ (mask[i & 3] ?? 0);
  return { frame: { final: (first & 0x80) !== 0, opcode: first & 0x0f, payload }, size };
}

/** A whole message in one frame, as servers send them: not masked. */
export function writeFrame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const header = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  header[0] = 0x80 | opcode;
  if (length < 126) header[1] = length;
  else if (length < 65_536) {
    header[1] = 126;
    header.writeUInt16BE(length, 2);
  } else {
    header[1] = 127;
    header.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([header, payload]);
}

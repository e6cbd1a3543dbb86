import type { Duplex, Writable } from "node:stream";

/** Aborts when the client at the other end of a response is gone. */
export function abortOnClose(response: Writable): AbortSignal {
  const gone = new AbortController();
  if (response.destroyed) gone.abort();
  else response.once("close", () => gone.abort());
  return gone.signal;
}

/**
 * The same for an upgraded socket, whose end goes unseen while nobody reads it: until `stop`, what the client
 * sends is read ahead, no further than the socket's buffer.
 */
export function abortOnEnd(socket: Duplex): { signal: AbortSignal; stop(): void } {
  const gone = new AbortController();
  const onReadable = () => {
    // With nothing buffered, this read is what brings out the end.
    if (socket.readableLength === 0) socket.read();
  };
  const onGone = () => gone.abort();
  socket.on("readable", onReadable).once("end", onGone).once("close", onGone);
  if (socket.destroyed) gone.abort();
  return {
    signal: gone.signal,
    stop: () => void socket.off("readable", onReadable).off("end", onGone).off("close", onGone),
  };
}

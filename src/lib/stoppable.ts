import type { Server, Socket } from "node:net";

/**
 * Ends a server together with all of its connections, also those in the middle of a TLS handshake: `closeAllConnections`
 * does not know these, and one that becomes a watch would keep `close` waiting for ever. To be called before it listens.
 */
export function stoppable(server: Server): () => Promise<void> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
}

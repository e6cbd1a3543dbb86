import type { Server, Socket } from "node:net";

/**
 * Returns a function that closes a server with all connections, including those in a TLS handshake, which
 * `closeAllConnections` ignores and which would delay `close` indefinitely. Call it before the server listens.
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

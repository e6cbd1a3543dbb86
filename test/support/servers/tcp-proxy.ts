import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** A connection to a server that a test can break in the ways that networks do. */
export interface TcpProxy {
  readonly port: number;
  /** Breaks every connection and refuses new ones. */
  refuse(): Promise<void>;
  accept(): Promise<void>;
  /** Connections that are open stay open without a byte; new ones work. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const open = new Set<Socket>();
  let server: Server | undefined;
  let port = 0;

  function carry(client: Socket): void {
    const target = connect(targetPort, "127.0.0.1");
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      open.add(from);
      from.on("data", (chunk) => to.write(chunk));
      from.on("error", () => {});
      from.once("close", () => {
        open.delete(from);
        to.destroy();
      });
    }
  }

  async function accept(): Promise<void> {
    server = createServer(carry).listen(port, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address && typeof address === "object") port = address.port;
  }

  async function refuse(): Promise<void> {
    const closing = server;
    server = undefined;
    const closed = closing && once(closing, "close");
    closing?.close();
    for (const socket of open) socket.destroy();
    await closed;
  }

  await accept();
  return {
    port,
    accept,
    refuse,
    freeze() {
      for (const socket of open) socket.pause();
    },
    thaw() {
      for (const socket of open) socket.resume();
    },
    close: refuse,
  };
}

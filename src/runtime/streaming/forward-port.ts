import { once } from "node:events";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { messageOf } from "../../lib/message-of.ts";

/** Opens a connection to a port of the pod. */
export type ConnectPort = (port: number) => Promise<Socket>;

/** The client's side of one forwarded connection, independent of the protocol. */
export interface ForwardedClient {
  /** Writes data of the pod. Resolves when more can be written. */
  write(data: Buffer): Promise<void>;
  /** The pod has ended the connection, or it failed: `problem` says why. */
  finish(problem?: string): void;
}

/** The pod's side of one forwarded connection. */
export interface ForwardedConnection {
  /** Writes data of the client. Resolves when more can be written. Data for a closed connection is dropped. */
  write(data: Buffer): Promise<void>;
  /** The client sends no more. */
  end(): void;
  /** The client has disconnected. */
  destroy(): void;
}

/** Time for data of the client after the pod has ended its side. */
const lingerMs = 1_000;

/** Connects to a port of the pod and copies data both ways until the pod ends the connection. */
export function forwardPort(
  port: number,
  connect: ConnectPort,
  client: ForwardedClient,
): ForwardedConnection {
  const input = new PassThrough();
  const gone = new AbortController();

  async function copyOutput(socket: Socket): Promise<void> {
    gone.signal.addEventListener("abort", () => socket.destroy(), { once: true });
    socket.on("error", () => gone.abort());
    socket.once("close", () => gone.abort());
    input.pipe(socket);
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) await client.write(chunk);
    client.finish();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  }

  async function run(): Promise<void> {
    const socket = await connect(port);
    if (gone.signal.aborted) return void socket.destroy();
    socket.setNoDelay(true);
    await copyOutput(socket);
  }
  run().catch((error: unknown) => {
    client.finish(`error forwarding port ${port} to pod: ${messageOf(error)}`);
    gone.abort();
  });

  return {
    async write(data) {
      if (gone.signal.aborted || input.writableEnded || input.write(data)) return;
      await once(input, "drain", { signal: gone.signal }).catch(() => {});
    },
    end: () => void input.end(),
    destroy: () => gone.abort(),
  };
}

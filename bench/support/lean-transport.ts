import { once } from "node:events";
import { connect as connectTls, createSecureContext, type TLSSocket } from "node:tls";
import type { ClusterAccess } from "../../src/client/kubeconfig/cluster-access.ts";
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "../../src/client/transport/transport.ts";
import { createLimiter } from "../../src/lib/limiter.ts";

/**
 * Transport for processes that simulate many clients. It takes less than half of the CPU time of Node's HTTP client, and is the
 * same for the server. It supports one call at a time per connection, no watches, and only responses with a content length.
 */
export function createLeanTransport(access: ClusterAccess, connections: number): Transport {
  const { server, tls } = access;
  const secureContext = createSecureContext({ ca: tls.ca, cert: tls.cert, key: tls.key });
  const limit = createLimiter(connections);
  const spare: TLSSocket[] = [];

  async function connect(): Promise<TLSSocket> {
    const socket = connectTls({ host: server.hostname, port: Number(server.port), secureContext });
    socket.setNoDelay(true);
    await once(socket, "secureConnect");
    // Pending requests are rejected; a spare connection that is closed is detected when it is used.
    socket.on("error", () => {});
    return socket;
  }

  return {
    async send(request) {
      const token = await access.token?.();
      return limit(async () => {
        try {
          const socket = spare.pop() ?? (await connect());
          const response = await call(socket, formatRequest(request, server.host, token));
          spare.push(socket);
          return response;
        } catch (error) {
          throw new TransportError(`${request.method} ${request.path}`, { cause: error });
        }
      });
    },
    close: () => spare.forEach((socket) => void socket.destroy()),
  };
}

function formatRequest(request: TransportRequest, host: string, token: string | undefined): string {
  const { method, path, headers, body = "" } = request;
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (const name in headers) text += `${name}: ${headers[name]}\r\n`;
  if (token) text += `authorization: Bearer ${token}\r\n`;
  return `${text}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function call(socket: TLSSocket, request: string): Promise<TransportResponse> {
  return new Promise((resolve, reject) => {
    let received: Buffer | undefined;
    const onData = (chunk: Buffer) => {
      received = received ? Buffer.concat([received, chunk]) : chunk;
      const response = readResponse(received);
      if (!response) return;
      leave();
      resolve(response);
    };
    const onClose = () => {
      leave();
      reject(new Error("the connection ended"));
    };
    const leave = () => void socket.off("data", onData).off("close", onClose);
    socket.on("data", onData).on("close", onClose);
    if (socket.destroyed) return onClose();
    socket.write(request);
  });
}

/** Undefined while the response is incomplete. */
function readResponse(received: Buffer): TransportResponse | undefined {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const head = received.toString("latin1", 0, headEnd);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error(`response without content-length: ${head}`);
  const bodyAt = headEnd + 4;
  if (received.length < bodyAt + Number(length)) return undefined;
  const body = received.subarray(bodyAt);
  const retryAfter = /\r\nretry-after: (\d+)/i.exec(head)?.[1];
  return {
    status: Number(head.slice(9, 12)),
    headers: { "retry-after": retryAfter },
    text: async () => body.toString(),
    async *chunks() {
      yield body;
    },
  };
}

import {
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  STATUS_CODES,
} from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import { HttpError } from "../../lib/http/http-exchange.ts";
import { joinSockets } from "../../lib/join-sockets.ts";

interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that the client sent after its request. */
  readonly head: Buffer;
}

/** Headers that the two protocols need. Others, such as credentials, are not forwarded. */
const forwarded = /^(connection|upgrade|origin|user-agent|x-stream-protocol-version|sec-websocket-.*)$/;
const tokenProtocol = "base64url.bearer.authorization.k8s.io.";

const responseTimeoutMs = 30_000;

/**
 * Proxies an upgraded connection (WebSocket or SPDY) to the runtime's streaming server. Rejects with an HttpError for the
 * client, and only while nothing has been sent to it.
 */
export async function proxyUpgrade(target: string, { request, socket, head }: Upgrade): Promise<void> {
  const dialed = await dial(target, request, socket);
  if (dialed.kind === "rejected") return void socket.end(await readErrorResponse(dialed.response));
  const { response, upgraded } = dialed;
  socket.write(`${headOf(response)}\r\n`);
  upgraded.unshift(dialed.head);
  socket.unshift(head);
  await joinSockets(socket, upgraded);
}

type Dialed =
  | {
      readonly kind: "upgraded";
      readonly response: IncomingMessage;
      readonly upgraded: Duplex;
      readonly head: Buffer;
    }
  | { readonly kind: "rejected"; readonly response: IncomingMessage };

function dial(target: string, { method, headersDistinct }: IncomingMessage, client: Duplex): Promise<Dialed> {
  const url = new URL(target);
  return new Promise((resolve, reject) => {
    const call = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
      method,
      headers: forwardedHeaders(headersDistinct),
      agent: false,
      // As upstream: the URL comes from the runtime over its trusted socket.
      rejectUnauthorized: false,
      timeout: responseTimeoutMs,
    });
    const hangUp = () => call.destroy();
    client.once("close", hangUp);
    call.on("timeout", () => call.destroy(new Error("i/o timeout")));
    call.on("error", (error) => reject(new HttpError(500, `error dialing backend: ${error.message}`)));
    call.on("response", (response) => resolve({ kind: "rejected", response }));
    call.on("upgrade", (response, upgraded, head) => {
      client.off("close", hangUp);
      upgraded.setTimeout(0);
      upgraded.setKeepAlive(true, 30_000);
      resolve({ kind: "upgraded", response, upgraded, head });
    });
    call.end();
  });
}

function forwardedHeaders(all: NodeJS.Dict<string[]>): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  for (const [name, values = []] of Object.entries(all)) {
    if (!forwarded.test(name)) continue;
    // Browsers send the bearer token as a subprotocol.
    const kept = name === "sec-websocket-protocol" ? values.map(withoutToken).filter(Boolean) : values;
    if (kept.length > 0) headers[name] = kept.length === 1 ? kept[0] : kept;
  }
  return headers;
}

function withoutToken(protocols: string): string {
  return protocols
    .split(",")
    .map((protocol) => protocol.trim())
    .filter((protocol) => !protocol.startsWith(tokenProtocol))
    .join(", ");
}

/** Formats the status line and headers as the runtime sent them. */
function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const pairs = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${rawHeaders[i + 1]}\r\n`] : []));
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${pairs.join("")}`;
}

const maxErrorBodyBytes = 10_000;

/** Reads the error response of a runtime that rejected the upgrade, to forward it unchanged. */
async function readErrorResponse(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxErrorBodyBytes) break;
  }
  const body = Buffer.concat(chunks);
  const code = response.statusCode ?? 502;
  const accepted = response.headersDistinct["x-accepted-stream-protocol-versions"] ?? [];
  const head =
    `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ""}\r\n` +
    accepted.map((protocol) => `X-Accepted-Stream-Protocol-Versions: ${protocol}\r\n`).join("") +
    `Content-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

import {
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  STATUS_CODES,
} from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import { joinSockets } from "../../../lib/join-sockets.ts";
import { HttpError } from "../http-error.ts";

interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What the client sent behind its request already. */
  readonly head: Buffer;
}

/** What the two protocols need. Nothing else goes on, least of all what the caller showed to be let in. */
const forwarded = /^(connection|upgrade|origin|user-agent|x-stream-protocol-version|sec-websocket-.*)$/;
const tokenProtocol = "base64url.bearer.authorization.k8s.io.";

const answerTimeoutMs = 30_000;

/**
 * Passes an upgrade on to the runtime's streaming server: WebSocket or SPDY, which is between the two ends. Rejects, with
 * what the client should be told, only while nothing has been sent to it.
 */
export async function proxyUpgrade(target: string, { request, socket, head }: Upgrade): Promise<void> {
  const answer = await dial(target, request, socket);
  if (answer.kind === "refused") return void socket.end(await refusalOf(answer.response));
  const { response, upgraded } = answer;
  socket.write(`${headOf(response)}\r\n`);
  upgraded.unshift(answer.head);
  socket.unshift(head);
  await joinSockets(socket, upgraded);
}

type Answer =
  | {
      readonly kind: "upgraded";
      readonly response: IncomingMessage;
      readonly upgraded: Duplex;
      readonly head: Buffer;
    }
  | { readonly kind: "refused"; readonly response: IncomingMessage };

function dial(target: string, { method, headersDistinct }: IncomingMessage, client: Duplex): Promise<Answer> {
  const url = new URL(target);
  return new Promise((resolve, reject) => {
    const call = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
      method,
      headers: forwardedHeaders(headersDistinct),
      agent: false,
      // As upstream: who is there follows from the runtime's word over its socket.
      rejectUnauthorized: false,
      timeout: answerTimeoutMs,
    });
    const hangUp = () => call.destroy();
    client.once("close", hangUp);
    call.on("timeout", () => call.destroy(new Error("i/o timeout")));
    call.on("error", (error) => reject(new HttpError(500, `error dialing backend: ${error.message}`)));
    call.on("response", (response) => resolve({ kind: "refused", response }));
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
    // Browsers put the token among the protocols.
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

/** Status line and headers as the runtime sent them. */
function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const pairs = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${rawHeaders[i + 1]}\r\n`] : []));
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${pairs.join("")}`;
}

const mostRefusalBytes = 10_000;

/** The runtime did not upgrade: its reason goes to the client as it is. */
async function refusalOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > mostRefusalBytes) break;
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

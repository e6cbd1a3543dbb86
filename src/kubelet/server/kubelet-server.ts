import { mkdir, realpath } from "node:fs/promises";
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import { hostname } from "node:os";
import type { Duplex } from "node:stream";
import type { Client } from "../../client/client.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import type { Clock } from "../../lib/clock.ts";
import { createHttpServer, type HttpServerOptions, listenOn } from "../../lib/http/http-server.ts";
import type { Logger } from "../../lib/logger.ts";
import { messageOf } from "../../lib/message-of.ts";
import { createSelfSigned } from "../../lib/x509/self-signed.ts";
import type { ImagePuller } from "../image/image-puller.ts";
import { type AnswerDeps, answerRequest } from "./answer-request.ts";
import {
  type Admit,
  type AuthenticationOptions,
  type AuthorizationOptions,
  createGatekeeper,
} from "./auth/gatekeeper.ts";
import type { HealthCheck } from "./check-health.ts";
import { HttpError } from "./http-error.ts";
import { parsePath } from "./request-path.ts";
import { sendError } from "./send-body.ts";
import type { LogFolders } from "./serve-container-log.ts";
import type { ServedPods } from "./served-pods.ts";
import type { StartupProbesDeps } from "./startup-probes.ts";
import { findStream } from "./stream/find-stream.ts";
import { proxyUpgrade } from "./stream/proxy-upgrade.ts";

export interface KubeletServerOptions {
  /** Port 0 picks one. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly nodeName: string;
  /** A certificate that signs itself is made when there is none. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  /** Who shows a certificate of it is known by that. */
  readonly clientCa?: string | Buffer;
  /** Answers who callers are and what they may do. */
  readonly client: Pick<Client, "request">;
  readonly authentication?: AuthenticationOptions;
  readonly authorization?: AuthorizationOptions;
  readonly pods: ServedPods;
  readonly cri: Pick<CriClient, "runtime">;
  readonly logs: LogFolders;
  readonly progress: Pick<ImagePuller, "progress" | "followProgress">;
  readonly probes: StartupProbesDeps["probes"];
  readonly metrics: AnswerDeps["metrics"];
  /** Beside `ping` and `log`; `syncloop` is upstream's name for the kubelet's own. */
  readonly health: Readonly<Record<string, HealthCheck>>;
  config(): unknown;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface KubeletServer {
  readonly port: number;
  /** Ends streams that are open too. */
  close(): Promise<void>;
}

interface ListenerDeps extends AnswerDeps {
  readonly admit: Admit;
  readonly logger: Logger;
}

/** Serves logs, exec, attach and what is known of this node's pods, to those whom the API server lets. */
export async function startKubeletServer(options: KubeletServerOptions): Promise<KubeletServer> {
  const { listen, nodeName, clientCa, logs } = options;
  await mkdir(logs.root, { recursive: true });
  const deps: ListenerDeps = {
    ...options,
    logs: {
      root: logs.root,
      realRoot: await realpath(logs.root),
      directoryName: (pod) => logs.directoryName(pod),
    },
    admit: createGatekeeper(options),
  };
  const tls = options.tls ?? createServingPair(nodeName, listen.host, options.clock.now());
  return listenOn(createListener(deps, { ...tls, clientCa }), listen);
}

/** As upstream names its own: the node, and when it was made. */
function createServingPair(nodeName: string, host: string, now: number) {
  const hosts = [...new Set([nodeName, hostname(), "localhost", "127.0.0.1", host])].filter(Boolean);
  return createSelfSigned({ subject: { commonName: `${nodeName}@${Math.floor(now / 1_000)}` }, hosts, now });
}

function createListener(deps: ListenerDeps, tls: HttpServerOptions["tls"]): Server {
  const { logger } = deps;
  const server = createHttpServer({ tls, maxConnections: 1_000, logger });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    void serve(deps, request, response).catch((error: unknown) => {
      // Half an answer is cut off, so that nobody takes it for a whole one.
      if (response.headersSent) return void response.destroy();
      sendError(response, toHttpError(error, request, logger));
    });
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", (error) => logger.debug("upgraded connection failed", { error }));
    void upgrade(deps, { request, socket, head }).catch((error: unknown) =>
      refuseUpgrade(socket, toHttpError(error, request, logger)),
    );
  });
  return server;
}

async function serve(deps: ListenerDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = parsePath(request.url ?? "/");
  const gone = new AbortController();
  response.once("close", () => gone.abort(new Error("the client went away")));
  // No path has a body; it is not kept.
  request.resume();
  await deps.admit(request, path.segments[0] ?? "");
  await answerRequest(deps, request, { path, response, signal: gone.signal });
}

async function upgrade(
  deps: ListenerDeps,
  { request, socket, head }: { request: IncomingMessage; socket: Duplex; head: Buffer },
): Promise<void> {
  const path = parsePath(request.url ?? "/");
  const [root = ""] = path.segments;
  await deps.admit(request, root);
  if (request.method !== "GET" && request.method !== "POST")
    throw new HttpError(405, "Method Not Allowed", { allow: "GET, POST" });
  if (root === "portForward") throw new HttpError(501, "port-forward is not supported by this kubelet");
  if (root !== "exec" && root !== "attach") throw new HttpError(400, "this path does not take an upgrade");
  const gone = new AbortController();
  const hangUp = () => gone.abort(new Error("the client went away"));
  socket.once("close", hangUp);
  const target = await findStream(deps, path, gone.signal);
  socket.off("close", hangUp);
  await proxyUpgrade(target, { request, socket, head });
}

function toHttpError(error: unknown, request: IncomingMessage, logger: Logger): HttpError {
  if (error instanceof HttpError) return error;
  logger.error("request failed", { method: request.method, path: request.url?.split("?")[0], error });
  return new HttpError(500, messageOf(error));
}

function refuseUpgrade(socket: Duplex, { code, message, headers }: HttpError): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ""}\r\n${lines.join("")}Content-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(message)}\r\nConnection: close\r\n\r\n${message}`,
    () => socket.destroy(),
  );
}

import { mkdir, readFile, realpath } from "node:fs/promises";
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import { hostname } from "node:os";
import { basename } from "node:path";
import type { Duplex } from "node:stream";
import type { Pod } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import {
  type AuthenticationOptions,
  type AuthorizationOptions,
  type AuthorizeRequest,
  createRequestAuthorizer,
} from "../../client/delegated-auth/authorize-node-request.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import type { Clock } from "../../lib/clock.ts";
import { HttpError, parsePath, sendError } from "../../lib/http/http-exchange.ts";
import { createHttpServer, type HttpServerOptions, listenOn } from "../../lib/http/http-server.ts";
import type { Logger } from "../../lib/logger.ts";
import { messageOf } from "../../lib/message-of.ts";
import { createSelfSigned } from "../../lib/x509/certificate.ts";
import type { KubeletConfiguration } from "../config/kubelet-configuration.ts";
import type { ImagePuller } from "../images/image-puller.ts";
import { podLogDirectory } from "../model/pod-paths.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { StatusWriter } from "../status/status-writer.ts";
import { findPortForward, findStream } from "./exec-and-attach.ts";
import { type HealthCheck, handleRequest, type RequestHandlerDeps } from "./handle-request.ts";
import type { LogDirectories } from "./log/container-log.ts";
import { proxyUpgrade } from "./proxy-upgrade.ts";
import type { ServedPods, StartupProbesDeps } from "./served-pods.ts";

export interface KubeletServerOptions {
  /** Port 0 picks a free port. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly nodeName: string;
  /** Serving certificate. Defaults to a new self-signed one. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  /** CA that signs client certificates. */
  readonly clientCa?: string | Buffer;
  /** Client for TokenReviews and SubjectAccessReviews. */
  readonly client: Pick<Client, "request">;
  readonly authentication?: AuthenticationOptions;
  readonly authorization?: AuthorizationOptions;
  readonly pods: ServedPods;
  readonly cri: Pick<CriClient, "runtime">;
  readonly logs: LogDirectories;
  readonly progress: Pick<ImagePuller, "progress" | "followProgress">;
  readonly probes: StartupProbesDeps["probes"];
  readonly metrics: RequestHandlerDeps["metrics"];
  readonly systemLogs: RequestHandlerDeps["systemLogs"];
  /** Health checks by name, in addition to `ping` and `log`. Upstream's name for the kubelet's own is `syncloop`. */
  readonly health: Readonly<Record<string, HealthCheck>>;
  config(): unknown;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface KubeletServer {
  readonly port: number;
  /** Closes the server and all open streams. */
  close(): Promise<void>;
}

interface ListenerDeps extends RequestHandlerDeps {
  readonly authorize: AuthorizeRequest;
  readonly logger: Logger;
}

/** Starts the kubelet's HTTPS server: logs, exec, attach and the state of this node's pods, for authorized users. */
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
    authorize: createRequestAuthorizer(options),
  };
  const tls = options.tls ?? createServingPair(nodeName, listen.host, options.clock.now());
  return listenOn(createListener(deps, { ...tls, clientCa }), listen);
}

/** Creates a self-signed certificate, named as upstream does: node name and creation time. */
function createServingPair(nodeName: string, host: string, now: number) {
  const hosts = [...new Set([nodeName, hostname(), "localhost", "127.0.0.1", host])].filter(Boolean);
  return createSelfSigned({ subject: { commonName: `${nodeName}@${Math.floor(now / 1_000)}` }, hosts, now });
}

function createListener(deps: ListenerDeps, tls: HttpServerOptions["tls"]): Server {
  const { logger } = deps;
  const server = createHttpServer({ tls, maxConnections: 1_000, logger });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    void serve(deps, request, response).catch((error: unknown) => {
      // A partial response is cut off, so that the client does not take it for a complete one.
      if (response.headersSent) return void response.destroy();
      sendError(response, toHttpError(error, request, logger));
    });
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", (error) => logger.debug("upgraded connection failed", { error }));
    void upgrade(deps, { request, socket, head }).catch((error: unknown) =>
      rejectUpgrade(socket, toHttpError(error, request, logger)),
    );
  });
  return server;
}

async function serve(deps: ListenerDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = parsePath(request.url ?? "/");
  const gone = new AbortController();
  response.once("close", () => gone.abort(new Error("the client closed the connection")));
  // No endpoint reads a request body.
  request.resume();
  await deps.authorize(request, path.segments[0] ?? "");
  await handleRequest(deps, request, { path, response, signal: gone.signal });
}

async function upgrade(
  deps: ListenerDeps,
  { request, socket, head }: { request: IncomingMessage; socket: Duplex; head: Buffer },
): Promise<void> {
  const path = parsePath(request.url ?? "/");
  const [root = ""] = path.segments;
  await deps.authorize(request, root);
  if (request.method !== "GET" && request.method !== "POST")
    throw new HttpError(405, "Method Not Allowed", { allow: "GET, POST" });
  if (root !== "exec" && root !== "attach" && root !== "portForward")
    throw new HttpError(400, "this path does not take an upgrade");
  const gone = new AbortController();
  const hangUp = () => gone.abort(new Error("the client closed the connection"));
  socket.once("close", hangUp);
  const find = root === "portForward" ? findPortForward : findStream;
  const target = await find(deps, path, gone.signal);
  socket.off("close", hangUp);
  await proxyUpgrade(target, { request, socket, head });
}

function toHttpError(error: unknown, request: IncomingMessage, logger: Logger): HttpError {
  if (error instanceof HttpError) return error;
  logger.error("request failed", { method: request.method, path: request.url?.split("?")[0], error });
  return new HttpError(500, messageOf(error));
}

function rejectUpgrade(socket: Duplex, { code, message, headers }: HttpError): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ""}\r\n${lines.join("")}Content-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(message)}\r\nConnection: close\r\n\r\n${message}`,
    () => socket.destroy(),
  );
}

export interface ServeNodeOptions
  extends Pick<
    KubeletServerOptions,
    "nodeName" | "client" | "cri" | "progress" | "probes" | "metrics" | "health" | "clock" | "logger"
  > {
  readonly config: KubeletConfiguration;
  /** Overrides the CA file of the configuration. */
  readonly clientCa?: string;
  readonly workers: Pick<PodWorkers, "list">;
  readonly writer: Pick<StatusWriter, "latest">;
  readonly logsDirectory: string;
}

/** Directory that `/logs/` serves, as upstream. */
const nodeLogDirectory = "/var/log";

/** Starts the kubelet's server as configured. Undefined if the configuration disables it. */
export async function serveNode(options: ServeNodeOptions): Promise<KubeletServer | undefined> {
  const { config, logsDirectory } = options;
  if (!config.enableServer) return undefined;
  const { tlsCertFile, tlsPrivateKeyFile, authentication, authorization } = config;
  const { clientCAFile } = authentication.x509;
  const clientCa = options.clientCa ?? (clientCAFile ? await readFile(clientCAFile) : undefined);
  return startKubeletServer({
    ...options,
    listen: { host: config.address, port: config.port },
    ...(tlsCertFile && {
      tls: { cert: await readFile(tlsCertFile), key: await readFile(tlsPrivateKeyFile) },
    }),
    ...(clientCa && { clientCa }),
    authentication: { anonymous: authentication.anonymous.enabled, webhook: authentication.webhook.enabled },
    authorization,
    pods: servedPods(options),
    systemLogs: config.enableSystemLogHandler ? nodeLogDirectory : undefined,
    logs: { root: logsDirectory, directoryName: (pod) => basename(podLogDirectory(logsDirectory, pod)) },
    config: () => config,
  });
}

function servedPods({ workers, writer }: Pick<ServeNodeOptions, "workers" | "writer">): ServedPods {
  const withStatus = (pod: Pod): Pod => ({ ...pod, status: writer.latest(pod) ?? pod.status ?? {} });
  return {
    find(namespace, name) {
      const pods = workers
        .list()
        .filter(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
      // A pod that is terminating may have the same name as its replacement.
      const pod = pods.find(({ metadata }) => !metadata.deletionTimestamp) ?? pods[0];
      return pod && withStatus(pod);
    },
    list: () => workers.list().map(withStatus),
  };
}

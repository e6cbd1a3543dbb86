import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { badRequest, type StatusError } from "../../../api/meta/status-error.ts";
import { acceptWebSocket, isWebSocketRequest } from "../../../lib/http/accept-web-socket.ts";
import type { RequestAuthorizer } from "../../auth/request-authorizer.ts";
import type { UnreadMemory } from "../../limits/unread-memory.ts";
import type { WatchSink } from "../../request/api-request.ts";
import type { RequestInfo } from "../../request/request-info.ts";
import type { Exchange } from "../middleware.ts";
import { rejectUpgrade } from "./respond.ts";

interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

interface WatchContext {
  readonly authenticateAndAuthorize: RequestAuthorizer["authenticateAndAuthorize"];
  readonly memory: UnreadMemory;
}

export function isWebSocketWatch(request: IncomingMessage, info: RequestInfo): boolean {
  const isWatch = info.kind === "resource" && info.verb === "watch" && info.subresource === "";
  return isWatch && isWebSocketRequest(request);
}

/** Watch over WebSocket: each event is one text message. The handshake is completed when the watch starts. */
export function createWebSocketWatch(
  upgrade: Upgrade,
  { authenticateAndAuthorize, memory }: WatchContext,
): Exchange {
  const { request, socket } = upgrade;
  let status = 101;

  function sendError(error: StatusError): void {
    status = error.code;
    rejectUpgrade(socket, error);
  }

  return {
    method: request.method ?? "GET",
    url: request.url ?? "/",
    headers: request.headers,
    limited: true,
    authorize: (info, query) => authenticateAndAuthorize(request, info, query),
    readBody: () => Promise.resolve(Buffer.alloc(0)),
    async send(response) {
      if (response.kind === "watch")
        return response.run(createWebSocketSink(upgrade, await acceptWebSocket(upgrade), memory));
      sendError(badRequest("this path does not take an upgrade"));
    },
    sendError,
    forward: () => Promise.reject(badRequest("a watch is not forwarded to a kubelet")),
    status: () => status,
  };
}

/** Sink of a watch. It is closed from the start if there is no WebSocket, because its handshake was invalid. */
function createWebSocketSink(
  { request, socket }: Upgrade,
  webSocket: WebSocket | undefined,
  memory: UnreadMemory,
): WatchSink {
  const reader = request.socket;
  const closed = new AbortController();
  const onClose = () => closed.abort();
  if (!webSocket || socket.destroyed) onClose();
  else socket.once("close", onClose);

  return {
    write(frame) {
      if (closed.signal.aborted || !webSocket) return;
      const message = Buffer.concat(frame);
      webSocket.send(message, { binary: false });
      memory.wrote(message.length);
    },
    backlog: () => socket.writableLength,
    drained: () =>
      new Promise((resolve) => {
        if (closed.signal.aborted || !socket.writableNeedDrain) return resolve();
        const done = () => {
          socket.off("drain", done).off("close", done);
          resolve();
        };
        socket.on("drain", done).on("close", done);
      }),
    hold: (data, bytes) => memory.hold(reader, data, bytes),
    release: (data, bytes) => memory.release(reader, data, bytes),
    end() {
      closed.abort();
      webSocket?.close(1000);
    },
    closed: closed.signal,
  };
}

import { rm } from "node:fs/promises";
import {
  connect,
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { connect as connectSocket } from "node:net";

/** A socket that forwards gRPC calls to another one and counts them by path. Calls that are not allowed are reset. */
export interface RecordingSocket {
  readonly calls: ReadonlyMap<string, number>;
  /** Metadata of the last call. */
  readonly lastHeaders: () => IncomingHttpHeaders;
  close(): Promise<void>;
}

export async function startRecordingSocket(options: {
  readonly listen: string;
  readonly target: string;
  readonly allowed: readonly string[];
}): Promise<RecordingSocket> {
  const calls = new Map<string, number>();
  let lastHeaders: IncomingHttpHeaders = {};
  const upstream = connect("http://localhost", { createConnection: () => connectSocket(options.target) });
  upstream.on("error", () => {});
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => {});
    session.on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream, headers) => {
    const path = headers[":path"] ?? "";
    calls.set(path, (calls.get(path) ?? 0) + 1);
    lastHeaders = headers;
    if (!options.allowed.includes(path)) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    forward(stream, headers);
  });

  function forward(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const call = upstream.request(headers);
    let trailers: IncomingHttpHeaders = {};
    call.on("error", () => stream.close());
    stream.on("error", () => call.close());
    stream.on("close", () => call.close());
    call.on("response", ({ ":status": code, ...rest }, flags) => {
      const response = { ":status": code, ...rest };
      // A call that fails at once has its status in the headers.
      if (flags & constants.NGHTTP2_FLAG_END_STREAM) return stream.respond(response, { endStream: true });
      stream.respond(response, { waitForTrailers: true });
      call.pipe(stream);
    });
    call.on("trailers", (received) => {
      trailers = received;
    });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    stream.pipe(call);
  }

  await new Promise<void>((resolve) => server.listen(options.listen, resolve));
  return {
    calls,
    lastHeaders: () => lastHeaders,
    async close() {
      for (const session of sessions) session.destroy();
      upstream.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(options.listen, { force: true });
    },
  };
}

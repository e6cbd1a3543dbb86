import type { ServerResponse } from "node:http";
import type { WatchSink } from "../api-request.ts";

/** A watch's client at the other end of an HTTP response. */
export function createResponseSink(response: ServerResponse): WatchSink {
  const closed = new AbortController();
  response.on("close", () => closed.abort());
  response.on("error", () => closed.abort());

  return {
    write: (chunk) => {
      if (!closed.signal.aborted) response.write(chunk);
    },
    backlog: () => response.writableLength,
    drained: () =>
      new Promise((resolve) => {
        if (closed.signal.aborted || !response.writableNeedDrain) return resolve();
        const done = () => {
          response.off("drain", done);
          closed.signal.removeEventListener("abort", done);
          resolve();
        };
        response.on("drain", done);
        closed.signal.addEventListener("abort", done);
      }),
    end: () => {
      response.end();
      closed.abort();
    },
    closed: closed.signal,
  };
}

import { setMaxListeners } from "node:events";
import type { ApiServer } from "../../apiserver/api-server.ts";
import type { UserInfo } from "../../apiserver/request/user-info.ts";
import { type Transport, TransportError, type TransportResponse } from "../../client/transport/transport.ts";

interface InProcessTransportOptions {
  readonly user: UserInfo;
  /** Undefined during an outage. */
  readonly server: () => Pick<ApiServer, "handle"> | undefined;
  /** Creates a transport over a connection, for requests that are proxied to a kubelet. */
  readonly openConnected: () => Transport;
}

/** Transport from the parts of a cluster to its API server in the same process, without a connection. */
export function createInProcessTransport(options: InProcessTransportOptions): Transport {
  const closing = new AbortController();
  // One listener per pending request.
  setMaxListeners(0, closing.signal);
  let connected: Transport | undefined;

  return {
    async send(request) {
      const { signal, method, path, headers, body } = request;
      signal?.throwIfAborted();
      const serving = options.server();
      if (closing.signal.aborted || !serving) throw new TransportError("the API server is not available");
      const ended = endOf(signal, closing.signal);
      try {
        const answer = await ended.orEnd(
          serving.handle(options.user, { method, path, headers, ...(body !== undefined && { body }) }),
        );
        if (!answer) {
          connected ??= options.openConnected();
          return await connected.send(request);
        }
        const { status, headers: answered } = answer;
        return { status, headers: answered, ...bodyOf(answer.body, signal, closing.signal) };
      } finally {
        ended.stop();
      }
    },
    close() {
      closing.abort(new TransportError("the connection is closed"));
      connected?.close();
    },
  };
}

/** End of a request: it is aborted, or the transport is closed. */
function endOf(...signals: readonly (AbortSignal | undefined)[]) {
  let reject: (reason: unknown) => void = () => {};
  const onAbort = ({ target }: Event) => reject((target as AbortSignal).reason);
  for (const signal of signals) signal?.addEventListener("abort", onAbort, { once: true });
  return {
    /**
     * Waits for the result, and rejects at the end of the request. `Promise.race` with one promise for the end would
     * retain every result, here all events of a watch, until the end.
     */
    orEnd<T>(result: Promise<T>): Promise<T> {
      return new Promise((resolve, refuse) => {
        reject = refuse;
        const aborted = signals.find((signal) => signal?.aborted);
        if (aborted) refuse(aborted.reason);
        result.then(resolve, refuse);
      });
    },
    stop() {
      for (const signal of signals) signal?.removeEventListener("abort", onAbort);
    },
  };
}

function bodyOf(
  body: string | Buffer | AsyncGenerator<Buffer>,
  ...signals: readonly (AbortSignal | undefined)[]
): Pick<TransportResponse, "text" | "chunks"> {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    if (typeof body === "string" || Buffer.isBuffer(body)) {
      yield typeof body === "string" ? Buffer.from(body) : body;
      return;
    }
    const ended = endOf(...signals);
    try {
      for (;;) {
        const next = await ended.orEnd(body.next());
        if (next.done) return;
        yield next.value;
      }
    } catch (error) {
      for (const signal of signals) signal?.throwIfAborted();
      throw new TransportError("the API server ended the watch", { cause: error });
    } finally {
      ended.stop();
      // Not awaited, because the reader may never return.
      void body.return(undefined);
    }
  }
  return {
    chunks,
    async text() {
      if (typeof body === "string") return body;
      const parts: Uint8Array[] = [];
      for await (const chunk of chunks()) parts.push(chunk);
      return Buffer.concat(parts).toString();
    },
  };
}

import { setMaxListeners } from "node:events";
import type { ApiServer } from "../apiserver/api-server.ts";
import type { UserInfo } from "../apiserver/auth/user-info.ts";
import { type Transport, TransportError, type TransportResponse } from "../client/transport.ts";

interface InProcessTransportOptions {
  readonly user: UserInfo;
  /** Undefined while it is away. */
  readonly server: () => Pick<ApiServer, "answer"> | undefined;
  /** For what needs a connection, because it goes on to a kubelet: few ever ask for it. */
  readonly openConnected: () => Transport;
}

/** How the parts of a cluster in one process reach its API server: without a connection, as the user they are. */
export function createInProcessTransport(options: InProcessTransportOptions): Transport {
  const closing = new AbortController();
  // One for each request that is under way.
  setMaxListeners(0, closing.signal);
  let connected: Transport | undefined;

  return {
    async send(request) {
      const { signal, method, path, headers, body } = request;
      signal?.throwIfAborted();
      const serving = options.server();
      if (closing.signal.aborted || !serving) throw new TransportError("the API server is not there");
      const ended = endOf(signal, closing.signal);
      try {
        const answer = await Promise.race([
          serving.answer(options.user, { method, path, headers, ...(body !== undefined && { body }) }),
          ended.rejected,
        ]);
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

/** A promise that rejects when the caller gives up or the transport is closed. */
function endOf(...signals: readonly (AbortSignal | undefined)[]) {
  let reject: (reason: unknown) => void = () => {};
  const rejected = new Promise<never>((_, refuse) => {
    reject = refuse;
  });
  // Nobody may be waiting for it any more.
  rejected.catch(() => {});
  const onAbort = ({ target }: Event) => reject((target as AbortSignal).reason);
  for (const signal of signals) {
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
  }
  return {
    rejected,
    stop() {
      for (const signal of signals) signal?.removeEventListener("abort", onAbort);
    },
  };
}

function bodyOf(
  body: string | Buffer | AsyncGenerator<string>,
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
        const next = await Promise.race([body.next(), ended.rejected]);
        if (next.done) return;
        yield Buffer.from(next.value);
      }
    } catch (error) {
      for (const signal of signals) signal?.throwIfAborted();
      throw new TransportError("the API server ended the watch", { cause: error });
    } finally {
      ended.stop();
      // Not waited for: a reader that is told to stop may be waiting for what never comes.
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

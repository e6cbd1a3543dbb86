import { Agent, request } from "node:https";
import { isIP } from "node:net";
import { checkHost, createLookup } from "./address-rules.ts";
import { dialErrorText } from "./dial-error-text.ts";

/** Address of a webhook, and how its certificate is verified. */
export interface WebhookTarget {
  /** URL for messages. */
  readonly url: string;
  /** Value of the Host header. */
  readonly host: string;
  /** Name that the certificate must have, and address to connect to by default. */
  readonly hostname: string;
  readonly port: number;
  /** Path and query. */
  readonly path: string;
  /** Finds the address to connect to. Throws if there is none. Default: `hostname` and `port`. */
  readonly connect?: () => { readonly host: string; readonly port: number };
  /** PEM. Default: the CAs of Node.js. */
  readonly ca?: string;
}

/** A call that failed. The message is worded as upstream. */
export class WebhookCallError extends Error {
  override readonly name = "WebhookCallError";
  /** HTTP status of the response. 503 if there was none. */
  readonly code: number;
  constructor(message: string, code = 503) {
    super(message);
    this.code = code;
  }
}

/** HTTPS client of all webhooks. Keeps connections open between calls. */
export interface WebhookClient {
  /** Sends JSON and returns the JSON of the response. Rejects with a WebhookCallError. */
  post(target: WebhookTarget, body: object, options: { timeoutMs: number }): Promise<unknown>;
  /** Closes idle connections. */
  close(): void;
}

/** Far more than the objects of one request, so that a webhook cannot exhaust the memory of the server. */
const maxBytes = 32 * 1_024 * 1_024;
const idleTimeoutMs = 90_000;
/** Webhooks may run on the machine of the API server. Link-local addresses are those of cloud metadata services. */
const addressRules = { allowLoopback: true };

/**
 * Redirects are not followed, because they would send objects to a server that the configuration does not name.
 */
export function createWebhookClient(): WebhookClient {
  const agent = new Agent({
    keepAlive: true,
    maxFreeSockets: 16,
    timeout: idleTimeoutMs,
    scheduling: "lifo",
    lookup: createLookup(addressRules),
  });
  return {
    async post(target, body, { timeoutMs }) {
      const payload = Buffer.from(JSON.stringify(body));
      const signal = AbortSignal.timeout(timeoutMs);
      const send = () => exchange(agent, target, { payload, signal });
      const reply = await send().catch((error: unknown) => {
        // The server closed an idle connection while the request was sent on it.
        if (error instanceof StaleConnection) return send();
        throw error;
      });
      return readReply(reply);
    },
    close: () => agent.destroy(),
  };
}

interface Reply {
  readonly status: number;
  readonly body: string;
}

class StaleConnection extends Error {}

function exchange(
  agent: Agent,
  { url, host, hostname, port, path, connect, ca }: WebhookTarget,
  { payload, signal }: { payload: Buffer; signal: AbortSignal },
): Promise<Reply> {
  const failed = (reason: string) => new WebhookCallError(`Post ${JSON.stringify(url)}: ${reason}`);
  return new Promise((resolve, reject) => {
    if (payload.length > maxBytes) {
      reject(failed(`the request is longer than ${maxBytes} bytes`));
      return;
    }
    let endpoint = { host: hostname, port };
    try {
      endpoint = connect?.() ?? endpoint;
      checkHost(endpoint.host, addressRules);
    } catch (error) {
      reject(failed(error instanceof Error ? error.message : String(error)));
      return;
    }
    const outgoing = request(
      {
        method: "POST",
        host: endpoint.host,
        port: endpoint.port,
        path,
        // Names of certificates are never addresses in the TLS extension.
        servername: isIP(hostname) ? "" : hostname,
        headers: {
          host,
          "content-type": "application/json",
          accept: "application/json, */*",
          "user-agent": "kube-apiserver-admission",
          "content-length": payload.length,
        },
        ...(ca !== undefined && { ca }),
        agent,
        signal,
      },
      (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on("error", (error) => reject(failed(errorText(error))));
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes <= maxBytes) chunks.push(chunk);
          else outgoing.destroy(new Error(`the response is longer than ${maxBytes} bytes`));
        });
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() });
        });
      },
    );
    const errorText = (error: Error & { code?: string }) =>
      signal.aborted ? "context deadline exceeded" : dialErrorText(error, endpoint);
    outgoing.on("error", (error: Error & { code?: string }) => {
      const isStale = outgoing.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE");
      reject(isStale && !signal.aborted ? new StaleConnection() : failed(errorText(error)));
    });
    outgoing.end(payload);
  });
}

/** Messages of upstream's client for responses without a body that it understands. */
const statusMessages: Readonly<Record<number, string>> = {
  400: "the server rejected our request for an unknown reason",
  401: "the server has asked for the client to provide credentials",
  404: "the server could not find the requested resource",
  405: "the server does not allow this method on the requested resource",
  503: "the server is currently unable to handle the request",
  504: "the server was unable to return a response in the time allotted, but may still be processing the request",
};

const maxShownBytes = 2_048;

function readReply({ status, body }: Reply): unknown {
  if (status < 200 || status > 206) {
    const shown = JSON.stringify(body.slice(0, maxShownBytes).trim() || "unknown");
    const fallback =
      status >= 500
        ? `an error on the server (${shown}) has prevented the request from succeeding`
        : `the server responded with the status code ${status} but did not return more information`;
    throw new WebhookCallError(statusMessages[status] ?? fallback, status);
  }
  try {
    return JSON.parse(body);
  } catch {
    throw new WebhookCallError("the response is not JSON");
  }
}

import { request } from "node:https";

/** Address of a webhook, and how its certificate is verified. */
export interface WebhookTarget {
  readonly url: URL;
  /** Host to connect to instead of that of the URL, whose name the certificate must have. */
  readonly connect?: { readonly host: string; readonly port: number };
  /** PEM. Default: the CAs of Node.js. */
  readonly ca?: string;
}

const timeoutMs = 30_000;
/** Far more than the objects of one request. */
const maxResponseBytes = 32 * 1_024 * 1_024;

/**
 * Sends JSON over HTTPS and returns the JSON of the response. Redirects are not followed, because they would send objects to a
 * server that the definition does not name. Rejects on any status but 200, after 30 seconds, and for a response over 32 MiB.
 */
export function postJson({ url, connect, ca }: WebhookTarget, body: object): Promise<unknown> {
  const payload = Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        method: "POST",
        host: connect?.host ?? url.hostname,
        port: connect?.port ?? (url.port || 443),
        path: url.pathname,
        servername: url.hostname,
        headers: {
          host: url.host,
          "content-type": "application/json",
          accept: "application/json",
          "content-length": payload.length,
        },
        ca,
        agent: false,
        signal: AbortSignal.timeout(timeoutMs),
      },
      (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on("error", reject);
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > maxResponseBytes) {
            outgoing.destroy(new Error(`the response is longer than ${maxResponseBytes} bytes`));
            return;
          }
          chunks.push(chunk);
        });
        response.on("end", () => {
          if (response.statusCode !== 200) {
            reject(new Error(`the server responded with the status ${response.statusCode}`));
            return;
          }
          try {
            resolve(JSON.parse(Buffer.concat(chunks).toString()));
          } catch {
            reject(new Error("the response is not JSON"));
          }
        });
      },
    );
    outgoing.on("error", (error) => {
      const reason =
        error.name === "TimeoutError" ? `no response within ${timeoutMs / 1_000} s` : error.message;
      reject(new Error(`Post ${JSON.stringify(url.href)}: ${reason}`));
    });
    outgoing.end(payload);
  });
}

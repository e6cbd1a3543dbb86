import { type Agent, request as httpsRequest } from "node:https";

export interface ProbeResult {
  status: number;
  text: string;
}

export interface Probe {
  method: string;
  path: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
}

/** How long an answer may take before it counts as a hang. */
const hangMs = 30_000;
/** A stream that has no end is looked at for this long. */
const streamMs = 20;

/**
 * Sends what no client library would. Unlike a test's usual requests it does not wait for the end of a watch, and
 * it fails when nothing comes back.
 */
export function probe(
  url: string,
  agent: Agent,
  { method, path, headers = {}, body }: Probe,
): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    const target = new URL(url);
    // Node.js frames the body for some methods only.
    const framing = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const request = httpsRequest(
      {
        host: target.hostname,
        port: target.port,
        path,
        method,
        agent,
        headers: { ...framing, ...headers },
        timeout: hangMs,
      },
      (response) => {
        const chunks: Buffer[] = [];
        const done = () => {
          clearTimeout(timer);
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
        };
        const endless = response.statusCode === 200 && response.headers["content-length"] === undefined;
        const timer = setTimeout(
          () => {
            request.destroy();
            if (endless) done();
            else reject(new Error(`${method} ${path}: the answer did not end`));
          },
          endless ? streamMs : hangMs,
        );
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", () => {});
        response.on("end", done);
      },
    );
    request.on("timeout", () => request.destroy(new Error(`${method} ${path}: no answer`)));
    request.on("error", reject);
    request.end(body);
  });
}

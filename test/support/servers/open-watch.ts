import { request as httpsRequest } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import type { KubeObject } from "../../../src/api/meta/objects.ts";
import type { Status } from "../../../src/api/meta/status-error.ts";
import { readCredentials } from "./api-server.ts";

interface WatchEvent {
  type: string;
  object: KubeObject & Partial<Status>;
}

export interface OpenWatch {
  /** What came so far. */
  readonly events: readonly WatchEvent[];
  /** The first `count` events, once there are that many. */
  until(count: number): Promise<WatchEvent[]>;
  readonly ended: Promise<void>;
  close(): void;
}

/**
 * A watch on a separate connection; resolves once the server has begun it. With the administrator's certificate, unless
 * a header says who asks.
 */
export async function openWatch(
  server: { readonly url: string; readonly kubeconfig: string },
  path: string,
  headers: Record<string, string> = {},
): Promise<OpenWatch> {
  const { ca, ...certificate } = await readCredentials(server.kubeconfig);
  const credentials = "authorization" in headers ? { ca } : { ca, ...certificate };
  const events: WatchEvent[] = [];
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      new URL(path, server.url),
      { ...credentials, agent: false, headers },
      (response) => {
        if (response.statusCode !== 200) reject(new Error(`watch answered ${response.statusCode}`));
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          const lines = (text + chunk).split("\n");
          text = lines.pop() ?? "";
          for (const line of lines) events.push(JSON.parse(line));
        });
        // A server that dies in the middle ends the watch, which is what `ended` is for.
        response.on("error", () => {});
        const ended = new Promise<void>((end) => response.on("close", end));
        resolve({
          events,
          ended,
          close: () => request.destroy(),
          async until(count) {
            for (let waited = 0; events.length < count; waited += 10) {
              if (waited > 60_000) throw new Error(`only ${events.length} of ${count} events came`);
              await delay(10);
            }
            return events.slice(0, count);
          },
        });
      },
    );
    request.on("error", (error) => reject(error));
    request.end();
  });
}

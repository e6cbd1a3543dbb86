import { createHttpServer, listenOn } from "../../lib/http/http-server.ts";
import type { Logger } from "../../lib/logger.ts";

const maxConnections = 50;

interface CheckedProxy {
  health(): { readonly healthy: boolean; readonly lastUpdated: number };
  healthChecked(path: "healthz" | "livez", code: number): void;
}

/** Serves `/healthz` and `/livez` like kube-proxy: 503 when changes have not been applied for a minute. */
export async function serveProxyHealth(
  listen: { readonly host: string; readonly port: number },
  { proxy, now, logger }: { readonly proxy: CheckedProxy; now(): number; readonly logger: Logger },
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createHttpServer({ maxConnections, logger });
  server.on("request", ({ url = "/" }, response) => {
    const path = url.split("?", 1)[0];
    if (path !== "/healthz" && path !== "/livez") {
      response.writeHead(404).end();
      return;
    }
    const { healthy, lastUpdated } = proxy.health();
    const code = healthy ? 200 : 503;
    proxy.healthChecked(path === "/healthz" ? "healthz" : "livez", code);
    const time = (ms: number) => new Date(ms).toISOString();
    response.writeHead(code, { "content-type": "application/json", "x-content-type-options": "nosniff" });
    response.end(
      JSON.stringify({ lastUpdated: time(lastUpdated), currentTime: time(now()), nodeEligible: true }),
    );
  });
  return listenOn(server, listen);
}

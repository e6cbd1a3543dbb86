import { createHttpServer, listenOn } from "../../lib/http/http-server.ts";
import type { Logger } from "../../lib/logger.ts";

const maxConnections = 50;

interface CheckedProxy {
  health(): { readonly healthy: boolean; readonly lastUpdated: number; readonly nodeEligible: boolean };
  healthChecked(path: "healthz" | "livez", code: number): void;
}

/**
 * Serves `/healthz` and `/livez` like kube-proxy: 503 when changes have not been applied for a minute; `/healthz` also when
 * the node is about to be removed.
 */
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
    const { lastUpdated, nodeEligible, ...state } = proxy.health();
    const isHealthz = path === "/healthz";
    // A proxy on a node that is about to be removed works, but load balancers should use other nodes.
    const code = state.healthy && (nodeEligible || !isHealthz) ? 200 : 503;
    proxy.healthChecked(isHealthz ? "healthz" : "livez", code);
    const time = (ms: number) => new Date(ms).toISOString();
    response.writeHead(code, { "content-type": "application/json", "x-content-type-options": "nosniff" });
    response.end(
      JSON.stringify({
        // As in kube-proxy: a healthy proxy has nothing to apply, so its rules are those of now.
        lastUpdated: time(code === 200 ? now() : lastUpdated),
        currentTime: time(now()),
        ...(isHealthz && { nodeEligible }),
        healthy: state.healthy,
      }),
    );
  });
  return listenOn(server, listen);
}

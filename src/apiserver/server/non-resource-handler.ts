import { versionInfo } from "../../api/meta/version.ts";
import type { DiscoveryHandler } from "../handlers/discovery/discovery-handler.ts";
import type { OpenApiHandler } from "../handlers/openapi/openapi-handler.ts";
import type { ApiRequest, BytesResponse } from "../request/api-request.ts";
import { type HealthCheck, respondToHealth, type ServerHealth } from "./health.ts";
import type { ApiMetrics } from "./metrics/request-metrics.ts";

interface NonResourceHandlerDeps {
  readonly discovery: DiscoveryHandler;
  readonly openApi: OpenApiHandler;
  readonly openId: ReadonlyMap<string, () => object>;
  readonly metrics: ApiMetrics;
  readonly health: Pick<ServerHealth, "live" | "ready">;
}

type NonResourceResponse = Pick<BytesResponse, "status" | "headers" | "body">;

/** Handles requests for paths that are not resources. Undefined for paths that are not served. */
export function createNonResourceHandler(
  deps: NonResourceHandlerDeps,
): (request: ApiRequest, path: string) => Promise<BytesResponse | undefined> {
  return async (request, path) => {
    if (request.method !== "GET" && request.method !== "HEAD") return undefined;
    const response = await findResponse(deps, request, path);
    return response && { kind: "bytes", ...response };
  };
}

async function findResponse(
  deps: NonResourceHandlerDeps,
  request: ApiRequest,
  path: string,
): Promise<NonResourceResponse | undefined> {
  if (path === "/") return jsonResponse({ paths: rootPaths });
  if (path === "/version") return jsonResponse(versionInfo);
  if (path === "/metrics")
    return {
      status: 200,
      headers: { "content-type": deps.metrics.contentType },
      body: deps.metrics.text(),
    };
  if (/^\/(livez|healthz)(\/|$)/.test(path)) return healthResponse(path, request.query, deps.health.live);
  if (/^\/readyz(\/|$)/.test(path)) return healthResponse(path, request.query, deps.health.ready);
  const openId = deps.openId.get(path);
  if (openId) return jsonResponse(openId());
  return (
    (await deps.discovery(path, request.headers)) ??
    (await deps.openApi(path, request.headers, request.query))
  );
}

const rootPaths = [
  "/api",
  "/apis",
  "/healthz",
  "/livez",
  "/metrics",
  "/openapi/v2",
  "/openapi/v3",
  "/readyz",
  "/version",
];

function jsonResponse(value: object): NonResourceResponse {
  return {
    status: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(value, undefined, 2),
  };
}

async function healthResponse(
  path: string,
  query: URLSearchParams,
  checks: readonly HealthCheck[],
): Promise<NonResourceResponse | undefined> {
  const health = await respondToHealth(path, query, checks);
  return (
    health && {
      ...health,
      headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
    }
  );
}

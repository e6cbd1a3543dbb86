import { versionInfo } from "../api/version.ts";
import type { ApiRequest, BytesAnswer } from "./api-request.ts";
import type { DiscoveryHandler } from "./discovery/discovery-handler.ts";
import { answerHealth, type HealthCheck } from "./health.ts";
import type { ApiMetrics } from "./metrics/api-metrics.ts";
import type { OpenApiHandler } from "./openapi/openapi-handler.ts";

interface PagesDeps {
  readonly discovery: DiscoveryHandler;
  readonly openApi: OpenApiHandler;
  readonly openId: ReadonlyMap<string, () => object>;
  readonly metrics: ApiMetrics;
  readonly live: readonly HealthCheck[];
  readonly ready: readonly HealthCheck[];
}

type Page = Pick<BytesAnswer, "status" | "headers" | "body">;

/** Whatever is served that is no resource, by path; undefined for a path that nobody serves. */
export function createPages(
  deps: PagesDeps,
): (request: ApiRequest, path: string) => Promise<BytesAnswer | undefined> {
  return async (request, path) => {
    if (request.method !== "GET" && request.method !== "HEAD") return undefined;
    const page = await findPage(deps, request, path);
    return page && { kind: "bytes", ...page };
  };
}

async function findPage(deps: PagesDeps, request: ApiRequest, path: string): Promise<Page | undefined> {
  if (path === "/") return jsonPage({ paths: rootPaths });
  if (path === "/version") return jsonPage(versionInfo);
  if (path === "/metrics")
    return {
      status: 200,
      headers: { "content-type": deps.metrics.contentType },
      body: deps.metrics.text(),
    };
  if (/^\/(livez|healthz)(\/|$)/.test(path)) return healthPage(path, request.query, deps.live);
  if (/^\/readyz(\/|$)/.test(path)) return healthPage(path, request.query, deps.ready);
  const openId = deps.openId.get(path);
  if (openId) return jsonPage(openId());
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

function jsonPage(value: object): Page {
  return {
    status: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(value, undefined, 2),
  };
}

async function healthPage(
  path: string,
  query: URLSearchParams,
  checks: readonly HealthCheck[],
): Promise<Page | undefined> {
  const answer = await answerHealth(path, query, checks);
  return (
    answer && {
      ...answer,
      headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
    }
  );
}

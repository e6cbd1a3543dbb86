import { versionInfo } from "../../api/meta/version.ts";
import type { Store } from "../../store/store.ts";
import type { DiscoveryHandler } from "../handlers/discovery/discovery-handler.ts";
import type { OpenApiHandler } from "../handlers/openapi/openapi-handler.ts";
import type { ApiRequest, BytesResponse } from "../request/api-request.ts";
import type { ApiMetrics } from "./metrics/request-metrics.ts";

/** Check of one part of the server. */
interface HealthCheck {
  readonly name: string;
  /** Rejects with the reason if the part is unhealthy. */
  check(): Promise<void>;
}

interface HealthResponse {
  readonly status: number;
  readonly body: string;
}

/** Health checks of an API server. */
interface ServerHealth {
  readonly live: readonly HealthCheck[];
  readonly ready: readonly HealthCheck[];
  /** Called once the objects that every cluster has are written. */
  setReady(): void;
}

export function createServerHealth(store: Store): ServerHealth {
  let isReady = false;
  const ping: HealthCheck = { name: "ping", check: async () => {} };
  const storeCheck: HealthCheck = { name: "store", check: async () => void (await store.currentRevision()) };
  const bootstrap: HealthCheck = {
    name: "poststarthook/bootstrap",
    check: async () => {
      if (!isReady) throw new Error("the cluster's own objects are still being written");
    },
  };
  return {
    live: [ping, storeCheck],
    ready: [ping, storeCheck, bootstrap],
    setReady: () => {
      isReady = true;
    },
  };
}

/**
 * Responds to `/livez`, `/readyz` and `/healthz` as upstream: `ok`, a line for each check with `?verbose` or when one
 * fails, a single check under `/readyz/NAME`, and `?exclude=NAME` skips one.
 */
export async function respondToHealth(
  path: string,
  query: URLSearchParams,
  checks: readonly HealthCheck[],
): Promise<HealthResponse | undefined> {
  const [, endpoint = "", single] = path.split("/");
  const chosen = single ? checks.filter((check) => check.name === single) : checks;
  if (single && chosen.length === 0) return undefined;
  const excluded = new Set(query.getAll("exclude"));
  const results = await Promise.all(chosen.map((check) => run(check, excluded)));
  const healthy = results.every((result) => result.kind !== "failed");
  if (healthy && !query.has("verbose")) return { status: 200, body: "ok" };

  const lines = results.map(({ name, kind }) => {
    if (kind === "excluded") return `[+]${name} excluded: ok\n`;
    // The reason is not sent, because anonymous clients may request this path.
    return kind === "ok" ? `[+]${name} ok\n` : `[-]${name} failed: reason withheld\n`;
  });
  const verdict = `${endpoint} check ${healthy ? "passed" : "failed"}\n`;
  return { status: healthy ? 200 : 500, body: lines.join("") + verdict };
}

async function run({ name, check }: HealthCheck, excluded: ReadonlySet<string>) {
  if (excluded.has(name)) return { name, kind: "excluded" as const };
  try {
    await check();
    return { name, kind: "ok" as const };
  } catch {
    return { name, kind: "failed" as const };
  }
}

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

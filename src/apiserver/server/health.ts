import type { Store } from "../../store/store.ts";

/** Check of one part of the server. */
export interface HealthCheck {
  readonly name: string;
  /** Rejects with the reason if the part is unhealthy. */
  check(): Promise<void>;
}

export interface HealthResponse {
  readonly status: number;
  readonly body: string;
}

/** Health checks of an API server. */
export interface ServerHealth {
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

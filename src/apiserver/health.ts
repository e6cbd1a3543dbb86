/** One thing that has to be well. */
export interface HealthCheck {
  readonly name: string;
  /** Resolves when it is; rejects with what is wrong. */
  check(): Promise<void>;
}

export interface HealthAnswer {
  readonly status: number;
  readonly body: string;
}

/**
 * Answers `/livez`, `/readyz` and `/healthz` as upstream words them: `ok`, a line for each check with `?verbose`
 * or when one fails, one check alone under `/readyz/NAME`, and `?exclude=NAME` leaves one out.
 */
export async function answerHealth(
  path: string,
  query: URLSearchParams,
  checks: readonly HealthCheck[],
): Promise<HealthAnswer | undefined> {
  const [, endpoint = "", single] = path.split("/");
  const chosen = single ? checks.filter((check) => check.name === single) : checks;
  if (single && chosen.length === 0) return undefined;
  const excluded = new Set(query.getAll("exclude"));
  const results = await Promise.all(chosen.map((check) => run(check, excluded)));
  const healthy = results.every((result) => result.kind !== "failed");
  if (healthy && !query.has("verbose")) return { status: 200, body: "ok" };

  const lines = results.map(({ name, kind }) => {
    if (kind === "excluded") return `[+]${name} excluded: ok\n`;
    // The reason may hold what anonymous callers should not see: it is for the log.
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

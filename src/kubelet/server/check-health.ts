/** What is wrong, if something is. */
export type HealthCheck = () => string | undefined;

export interface HealthAnswer {
  readonly code: number;
  readonly text: string;
}

/** `/healthz` for all checks, `/healthz/NAME` for one. Undefined for a check that is not there. */
export function checkHealth(
  checks: Readonly<Record<string, HealthCheck>>,
  { name, verbose }: { name?: string; verbose: boolean },
): HealthAnswer | undefined {
  const all: [string, HealthCheck][] = [
    ["ping", () => undefined],
    ["log", () => undefined],
    ...Object.entries(checks),
  ];
  const asked = name === undefined ? all : all.filter(([known]) => known === name);
  if (asked.length === 0) return undefined;
  const results = asked.map(([check, run]) => ({ check, problem: run() }));
  const failed = results.some(({ problem }) => problem !== undefined);
  if (!failed && !verbose) return { code: 200, text: "ok" };
  const lines = results.map(({ check, problem }) =>
    problem === undefined ? `[+]${check} ok\n` : `[-]${check} failed: ${problem}\n`,
  );
  return {
    code: failed ? 500 : 200,
    text: `${lines.join("")}healthz check ${failed ? "failed" : "passed"}\n`,
  };
}

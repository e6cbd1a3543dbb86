/** `99.95 %`: as many digits as it takes to tell it from 100 %, two at most. */
export function percentText(part: number): string {
  const percent = Math.floor(part * 10_000 + 1e-6) / 100;
  return `${percent} %`;
}

export function describeBudget(left: number): string {
  if (left > 0) return `${Math.max(1, Math.round(left * 100))} % of the error budget left`;
  return left === 0 ? "The error budget is spent" : `Overspent by ${Math.round(-left * 100)} %`;
}

/** At 1 the budget lasts for exactly its window. */
export function describeBurn(rate: number): string {
  return `burn rate ${rate >= 10 ? Math.round(rate) : Math.round(rate * 100) / 100}`;
}

export function toneOfBudget(left: number): "ready" | "readiness" | "failing" {
  if (left <= 0) return "failing";
  return left < 0.25 ? "readiness" : "ready";
}

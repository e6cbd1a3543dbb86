import type { Container, Event } from "../api/meta/objects.ts";
import { eventTimeMs } from "../api/meta/time.ts";
import { formatBudget, type StartupBudget, startupBudget } from "../api/pod/startup-budget.ts";
import { eventsOf, type PodFacts } from "./explanation.ts";

type BudgetFacts = Pick<PodFacts, "events" | "budgets" | "now">;

/** Startup budget of a container as reported by its kubelet, else estimated from events. */
export function findBudget(facts: BudgetFacts, container: Container, startedMs: number): StartupBudget {
  const { failureThreshold = 3, periodSeconds = 10, initialDelaySeconds = 0 } = container.startupProbe ?? {};
  const known = facts.budgets.find((budget) => budget.container === container.name);
  if (known) {
    const failures = Math.min(known.failures, failureThreshold);
    return formatBudget({ failures, failureThreshold, secondsLeft: known.secondsLeft });
  }
  const { now } = facts;
  const periodMs = 1_000 * periodSeconds;
  const firstMs = startedMs + 1_000 * initialDelaySeconds;
  const events = eventsOf(facts, container.name).filter((event) => isFailureSince(event, startedMs));
  const counted = events.reduce((sum, { count, series }) => sum + (series?.count ?? count ?? 1), 0);
  // Events with equal text are aggregated across runs: count no more failures than possible since this start.
  const possible = Math.max(0, Math.floor((now - firstMs) / periodMs) + 1);
  const failures = Math.min(counted, possible, failureThreshold);
  const nextProbeAtMs = failures === 0 ? firstMs : Math.max(...events.map(eventTimeMs)) + periodMs;
  return startupBudget({ failures, failureThreshold, periodMs, nextProbeAtMs, now });
}

/** Aggregated events have a prefix before the message. */
function isFailureSince(event: Event, startedMs: number): boolean {
  const { reason, message } = event;
  return (
    reason === "Unhealthy" && !!message?.includes("Startup probe failed") && eventTimeMs(event) >= startedMs
  );
}

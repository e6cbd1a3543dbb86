import type { Container, Event } from "../../api/objects.ts";
import { type StartupBudget, startupBudget, tellBudget } from "../../api/startup-budget.ts";
import { eventTimeMs } from "../event-time.ts";
import { eventsOf, type PodFacts } from "./explanation.ts";

type BudgetFacts = Pick<PodFacts, "events" | "budgets" | "now">;

/** How much of its time to start a container has used: as its kubelet says, else as far as its events tell. */
export function findBudget(facts: BudgetFacts, container: Container, startedMs: number): StartupBudget {
  const { failureThreshold = 3, periodSeconds = 10, initialDelaySeconds = 0 } = container.startupProbe ?? {};
  const known = facts.budgets.find((budget) => budget.container === container.name);
  if (known) {
    const failures = Math.min(known.failures, failureThreshold);
    return tellBudget({ failures, failureThreshold, secondsLeft: known.secondsLeft });
  }
  const { now } = facts;
  const periodMs = 1_000 * periodSeconds;
  const firstMs = startedMs + 1_000 * initialDelaySeconds;
  const events = eventsOf(facts, container.name).filter((event) => isFailureSince(event, startedMs));
  const counted = events.reduce((sum, { count, series }) => sum + (series?.count ?? count ?? 1), 0);
  // Events of one text are counted together, also those of a run before: no more failed than could since this start.
  const possible = Math.max(0, Math.floor((now - firstMs) / periodMs) + 1);
  const failures = Math.min(counted, possible, failureThreshold);
  const nextProbeAtMs = failures === 0 ? firstMs : Math.max(...events.map(eventTimeMs)) + periodMs;
  return startupBudget({ failures, failureThreshold, periodMs, nextProbeAtMs, now });
}

/** Many that are alike are told as one, with words in front. */
function isFailureSince(event: Event, startedMs: number): boolean {
  const { reason, message } = event;
  return (
    reason === "Unhealthy" && !!message?.includes("Startup probe failed") && eventTimeMs(event) >= startedMs
  );
}

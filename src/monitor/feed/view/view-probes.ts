import type { Container, ContainerStatus, Event, Pod } from "../../../api/objects.ts";
import type { ProbeView } from "../feed-message.ts";

/** How many failures a container has had, as its kubelet counts them. */
export interface KnownBudget {
  readonly container: string;
  readonly failures: number;
}

interface ProbeFacts {
  readonly pod: Pod;
  readonly events: readonly Event[];
  readonly budgets: readonly KnownBudget[];
  readonly now: number;
}

/** The startup probes that a pod waits for. */
export function viewProbes(facts: ProbeFacts): readonly ProbeView[] {
  return containersInStartup(facts.pod).map(({ container, startedMs }) => {
    const { failureThreshold: threshold = 3, periodSeconds = 10 } = container.startupProbe ?? {};
    const known = facts.budgets.find((budget) => budget.container === container.name)?.failures;
    const failures = known ?? countInEvents(facts, container, startedMs);
    return { container: container.name, failures: Math.min(failures, threshold), threshold, periodSeconds };
  });
}

/** Containers that run and whose startup probe has not succeeded yet. */
export function containersInStartup({ spec, status }: Pod): { container: Container; startedMs: number }[] {
  const statuses = new Map<string, ContainerStatus>(
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map((each) => [
      each.name,
      each,
    ]),
  );
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].flatMap((container) => {
    const { started, state } = statuses.get(container.name) ?? {};
    if (!container.startupProbe || started || !state?.running) return [];
    return [{ container, startedMs: Date.parse(state.running.startedAt ?? "") || 0 }];
  });
}

/** Events of one text are counted together, also those of a run before: no more failed than could since this start. */
function countInEvents({ events, now }: ProbeFacts, container: Container, startedMs: number): number {
  const { periodSeconds = 10, initialDelaySeconds = 0 } = container.startupProbe ?? {};
  const ofContainer = `{${container.name}}`;
  const counted = events
    .filter(
      ({ reason, message, involvedObject, lastTimestamp, eventTime }) =>
        reason === "Unhealthy" &&
        message?.startsWith("Startup probe ") &&
        involvedObject.fieldPath?.endsWith(ofContainer) &&
        Date.parse(lastTimestamp ?? eventTime ?? "") >= startedMs,
    )
    .reduce((sum, { count, series }) => sum + (series?.count ?? count ?? 1), 0);
  const elapsedSeconds = (now - startedMs) / 1_000 - initialDelaySeconds;
  return Math.max(0, Math.min(counted, Math.floor(elapsedSeconds / periodSeconds) + 1));
}

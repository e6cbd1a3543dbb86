import type { Container, ContainerStatus, Pod } from "../../../api/objects.ts";
import type { PodFacts } from "../../explain/explanation.ts";
import { findBudget } from "../../explain/find-budget.ts";
import type { ProbeView } from "../feed-message.ts";

type ProbeFacts = Pick<PodFacts, "pod" | "events" | "budgets" | "now">;

/** The startup probes that a pod waits for. */
export function viewProbes(facts: ProbeFacts): readonly ProbeView[] {
  return containersInStartup(facts.pod).map(({ container, startedMs }) => {
    const { failures, failureThreshold: threshold } = findBudget(facts, container, startedMs);
    const { periodSeconds = 10 } = container.startupProbe ?? {};
    return { container: container.name, failures, threshold, periodSeconds };
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

import type { Container, Probe } from "../../api/objects.ts";
import { isSidecar } from "../../api/pod-resources.ts";
import type { PodFacts } from "./explanation.ts";

/** The proposal as something to do; undefined where there is none. */
export function adviceFor({ advice }: Pick<PodFacts, "advice">, container: string): string | undefined {
  const found = advice.find((each) => each.container === container);
  if (!found) return undefined;
  const { periodSeconds, failureThreshold, reason } = found;
  return `give container ${container} a startupProbe with periodSeconds: ${periodSeconds} and failureThreshold: ${failureThreshold} (${reason})`;
}

/** The first probe comes at once, and the next a second later at the soonest: who is up by then was never in danger. */
const fastSeconds = 1;

/** A container whose slowest start used more than half of the time that it has until a probe kills it. */
export function findTight(facts: Pick<PodFacts, "pod" | "advice">): TightContainer | undefined {
  const { containers = [], initContainers = [] } = facts.pod.spec ?? {};
  for (const container of [...initContainers.filter(isSidecar), ...containers]) {
    const { slowestSeconds = 0 } = facts.advice.find((each) => each.container === container.name) ?? {};
    const allowedSeconds = allowedSecondsOf(container);
    if (slowestSeconds < fastSeconds || allowedSeconds === undefined) continue;
    if (2 * slowestSeconds > allowedSeconds) return { name: container.name, slowestSeconds, allowedSeconds };
  }
  return undefined;
}

export interface TightContainer {
  readonly name: string;
  readonly slowestSeconds: number;
  readonly allowedSeconds: number;
}

/** Until the failure that kills it; undefined where none does. */
function allowedSecondsOf({ startupProbe, livenessProbe }: Container): number | undefined {
  const probe: Probe | undefined = startupProbe ?? livenessProbe;
  if (!probe) return undefined;
  const { initialDelaySeconds = 0, periodSeconds = 10, failureThreshold = 3 } = probe;
  return initialDelaySeconds + periodSeconds * (failureThreshold - 1);
}

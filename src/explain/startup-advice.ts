import { isSidecar } from "../api/pod/pod-resources.ts";
import { allowedStartSeconds } from "../api/pod/startup-budget.ts";
import type { PodFacts } from "./explanation.ts";

/** Formats the kubelet's proposal for a container. Undefined if there is none. */
export function adviceFor({ advice }: Pick<PodFacts, "advice">, container: string): string | undefined {
  const found = advice.find((each) => each.container === container);
  if (!found) return undefined;
  const { periodSeconds, failureThreshold, reason } = found;
  return `give container ${container} a startupProbe with periodSeconds: ${periodSeconds} and failureThreshold: ${failureThreshold} (${reason})`;
}

/** Starts faster than this are never killed: the second probe runs after one second at the earliest. */
const fastSeconds = 1;

/** Finds a container whose slowest start took more than half of the time after which a probe kills it. */
export function findTight(facts: Pick<PodFacts, "pod" | "advice">): TightContainer | undefined {
  const { containers = [], initContainers = [] } = facts.pod.spec ?? {};
  for (const container of [...initContainers.filter(isSidecar), ...containers]) {
    const { slowestSeconds = 0 } = facts.advice.find((each) => each.container === container.name) ?? {};
    const allowedSeconds = allowedStartSeconds(container);
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

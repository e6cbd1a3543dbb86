import { conditionOf } from "../../../src/api/meta/object-facts.ts";
import type { Pod } from "../../../src/api/meta/objects.ts";

export type PodState = "terminating" | "ready" | "waiting";

export function podState(pod: Pod): PodState {
  if (pod.metadata.deletionTimestamp) return "terminating";
  return conditionOf(pod, "Ready")?.status === "True" ? "ready" : "waiting";
}

/** Describes a pod by name, image and state: `web-0=web:1 ready`. */
export function describePod(pod: Pod): string {
  return `${pod.metadata.name}=${pod.spec?.containers[0]?.image} ${podState(pod)}`;
}

import { requiredNodes } from "../../api/node-matcher.ts";
import type { Pod } from "../../api/objects.ts";
import { podRequests } from "../../api/pod-resources.ts";
import {
  addQuantities,
  compareQuantities,
  milliUnits,
  parseQuantity,
  type Quantity,
  subtractQuantities,
  wholeUnits,
} from "../../api/quantity.ts";
import type { EarlyEnding } from "../status/status-facts.ts";
import { forbidSysctl } from "./forbid-sysctl.ts";

export interface AdmissionFacts {
  readonly pod: Pod;
  /** That are here already and have not ended. */
  readonly others: readonly Pod[];
  /** As in the node's status, the number of pods among them. */
  readonly allocatable: Readonly<Record<string, string>>;
  readonly node: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  /** Kernel settings that pods may change although others on the node may feel it. */
  readonly allowedUnsafeSysctls: readonly string[];
}

const zero = parseQuantity("0");

/** Why the node cannot take a pod that was bound to it; the first reason, in upstream's words. */
export function rejectPod(facts: AdmissionFacts): EarlyEnding | undefined {
  const { pod, allocatable } = facts;
  if (pod.spec?.os && pod.spec.os.name !== "linux") {
    return rejection("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS");
  }
  const forbidden = forbidSysctl(pod, facts.allowedUnsafeSysctls);
  if (forbidden) return rejection("SysctlForbidden", forbidden);
  const belongsHere = requiredNodes(pod);
  if (belongsHere && !belongsHere(facts.node)) {
    const why = "node(s) didn't match Pod's node affinity/selector";
    return rejection("NodeAffinity", `Predicate NodeAffinity failed: ${why}`);
  }
  for (const [resource, { requested, used }] of needs(facts)) {
    const capacity = allocatable[resource];
    // A resource that the node does not know is somebody else's to count.
    if (capacity === undefined || compareQuantities(requested, zero) === 0) continue;
    const free = subtractQuantities(parseQuantity(capacity), used);
    if (compareQuantities(requested, free) <= 0) continue;
    const show = resource === "cpu" ? milliUnits : wholeUnits;
    const amounts = `requested: ${show(requested)}, used: ${show(used)}, capacity: ${show(parseQuantity(capacity))}`;
    return rejection(`OutOf${resource}`, `Node didn't have enough resource: ${resource}, ${amounts}`);
  }
  return undefined;
}

interface Need {
  readonly requested: Quantity;
  readonly used: Quantity;
}

function needs({ pod, others }: AdmissionFacts): ReadonlyMap<string, Need> {
  const used = new Map<string, Quantity>();
  for (const other of others) {
    for (const [name, amount] of podRequests(other))
      used.set(name, addQuantities(used.get(name) ?? zero, amount));
  }
  const pods = { requested: parseQuantity("1"), used: parseQuantity(String(others.length)) };
  const requests = [...podRequests(pod)].map(
    ([name, requested]) => [name, { requested, used: used.get(name) ?? zero }] as const,
  );
  return new Map([["pods", pods], ...requests]);
}

function rejection(reason: string, message: string): EarlyEnding {
  return { kind: "rejected", reason, message: `Pod was rejected: ${message}` };
}

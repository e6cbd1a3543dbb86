import type { Pod } from "../../api/meta/objects.ts";
import {
  addQuantities,
  compareQuantities,
  milliUnits,
  parseQuantity,
  type Quantity,
  subtractQuantities,
  wholeUnits,
} from "../../api/meta/quantity.ts";
import { readHostPorts, sharePort } from "../../api/pod/host-ports.ts";
import { requiredNodes } from "../../api/pod/node-matcher.ts";
import { podRequests } from "../../api/pod/pod-resources.ts";
import { isFinalPhase } from "../../api/pod/pod-state.ts";
import { forbidSysctl } from "../config/forbid-sysctl.ts";
import { shutdownRejection } from "../node/plan-shutdown.ts";
import type { TerminationReason } from "../status/status-facts.ts";
import type { PodObserver } from "./pod-observer.ts";
import type { PodWorkers } from "./pod-workers.ts";

export interface AcceptanceFacts {
  readonly pod: Pod;
  /** Pods that the node has accepted and that have not terminated. */
  readonly others: readonly Pod[];
  /** `status.allocatable` of the node, including the number of pods. */
  readonly allocatable: Readonly<Record<string, string>>;
  readonly node: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  /** Sysctls that pods may set although they are not isolated from other pods of the node. */
  readonly allowedUnsafeSysctls: readonly string[];
}

export interface AcceptanceOptions {
  readonly workers: Pick<PodWorkers, "listExpected" | "has">;
  readonly observer: Pick<PodObserver, "get">;
  readonly node: () => AcceptanceFacts["node"] & Pick<AcceptanceFacts, "allocatable">;
  /** Reads the node from the API again; `node` then returns it. */
  readonly refreshNode: (signal: AbortSignal) => Promise<void>;
  readonly config: Pick<AcceptanceFacts, "allowedUnsafeSysctls">;
  readonly isShuttingDown: () => boolean;
}

/**
 * Decides whether pods run on this node. Returns the reason of a rejection, or undefined for an accepted pod, which
 * reserves its resources: only pods accepted earlier count against the node's capacity.
 */
export function createPodAcceptance(
  options: AcceptanceOptions,
): (pod: Pod, signal: AbortSignal) => Promise<TerminationReason | undefined> {
  const { workers, observer, config, isShuttingDown } = options;
  const accepted = new Set<string>();

  function decide(pod: Pod): TerminationReason | undefined {
    if (isShuttingDown()) return shutdownRejection;
    for (const uid of accepted) if (!workers.has(uid)) accepted.delete(uid);
    const others = workers.listExpected().filter(({ metadata: { uid = "" }, status }) => {
      const isHere = accepted.has(uid) || observer.get(uid) !== undefined;
      return isHere && uid !== pod.metadata.uid && !isFinalPhase(status?.phase);
    });
    const node = options.node();
    const { allowedUnsafeSysctls } = config;
    const rejection = rejectPod({ pod, others, node, allocatable: node.allocatable, allowedUnsafeSysctls });
    if (!rejection) accepted.add(pod.metadata.uid ?? "");
    return rejection;
  }

  return async (pod, signal) => {
    const rejection = decide(pod);
    if (rejection?.reason !== affinityReason) return rejection;
    // The scheduler may have seen a newer node than this kubelet, for example a label that was just added.
    await options.refreshNode(signal).catch(() => signal.throwIfAborted());
    return decide(pod);
  };
}

const affinityReason = "NodeAffinity";
const zero = parseQuantity("0");

/** First reason why the node rejects a pod that is bound to it, with upstream's reason and message. */
export function rejectPod(facts: AcceptanceFacts): TerminationReason | undefined {
  const { pod, allocatable } = facts;
  if (pod.spec?.os && pod.spec.os.name !== "linux") {
    return rejection("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS");
  }
  const forbidden = forbidSysctl(pod, facts.allowedUnsafeSysctls);
  if (forbidden) return rejection("SysctlForbidden", forbidden);
  for (const [resource, { requested, used }] of needs(facts)) {
    const capacity = allocatable[resource];
    // Resources that the node does not report are not limited here.
    if (capacity === undefined || compareQuantities(requested, zero) === 0) continue;
    const free = subtractQuantities(parseQuantity(capacity), used);
    if (compareQuantities(requested, free) <= 0) continue;
    const show = resource === "cpu" ? milliUnits : wholeUnits;
    const amounts = `requested: ${show(requested)}, used: ${show(used)}, capacity: ${show(parseQuantity(capacity))}`;
    return rejection(`OutOf${resource}`, `Node didn't have enough resource: ${resource}, ${amounts}`);
  }
  const matchesNode = requiredNodes(pod);
  if (matchesNode && !matchesNode(facts.node)) {
    const why = "node(s) didn't match Pod's node affinity/selector";
    return rejection(affinityReason, `Predicate NodeAffinity failed: ${why}`);
  }
  const ports = readHostPorts(pod.spec);
  if (facts.others.some(({ spec }) => sharePort(readHostPorts(spec), ports))) {
    const why = "node(s) didn't have free ports for the requested pod ports";
    return rejection("NodePorts", `Predicate NodePorts failed: ${why}`);
  }
  return undefined;
}

interface Need {
  readonly requested: Quantity;
  readonly used: Quantity;
}

function needs({ pod, others }: AcceptanceFacts): ReadonlyMap<string, Need> {
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

function rejection(reason: string, message: string): TerminationReason {
  return { kind: "rejected", reason, message: `Pod was rejected: ${message}` };
}

import { isEqual } from "../../api/meta/is-equal.ts";
import { isReady } from "../../api/meta/object-facts.ts";
import type { Node, Pod } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import type { WorkQueue } from "../../client/queue/work-queue.ts";
import { isConflict, isNotFound } from "../../client/transport/status-errors.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";
import {
  awaitsEviction,
  decideHealth,
  decideTaints,
  type EvictionMode,
  isHeartbeat,
  isRenewal,
  readinessOf,
  readyConditionOf,
} from "./decide-node.ts";
import { writePodCondition } from "./write-pod-condition.ts";
import {
  createEvictionLimiter,
  evictionRateOf,
  isFullDisruption,
  type Zones,
  zoneOf,
  zonesOf,
} from "./zones.ts";

const leaseNamespace = "kube-node-lease";
const timings = { graceMs: 40_000, startupGraceMs: 60_000 };
/** Requeue delay when the lease was renewed but the informer has not observed it. */
const unobservedRenewalRequeueMs = 5_000;

/** Runs the node lifecycle controller, which taints nodes that are not ready or silent, until the signal aborts. */
export function runNodeLifecycleController(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, reader, clock, informers } = context;
  const logger = context.logger.component("node-lifecycle");
  const recorder = context.recorder("node-controller");
  const nodes = informers.of("nodes");
  const leases = informers.of("leases");
  const pods = informers.of("pods");
  const limiter = createEvictionLimiter();
  /** Time of the last heartbeat by the local clock: the clocks of nodes may be wrong. */
  const lastSeenAt = new Map<string, number>();
  let zones: Zones = new Map();

  function watch(queue: Pick<WorkQueue, "add">): void {
    nodes.onChange((change) => {
      const { object: node } = change;
      const { name = "", creationTimestamp = "" } = node.metadata;
      if (change.kind === "added") {
        lastSeenAt.set(
          name,
          readyConditionOf(node) ? clock.now() : Date.parse(creationTimestamp) || clock.now(),
        );
        recordEvent(node, "RegisteredNode", `Node ${name} event: Registered Node ${name} in Controller`);
      } else if (change.kind === "deleted") {
        lastSeenAt.delete(name);
        recordEvent(node, "RemovingNode", `Node ${name} event: Removing Node ${name} from Controller`);
      } else if (isHeartbeat(change.previous, node)) {
        lastSeenAt.set(name, clock.now());
      }
      const affectsZones = change.kind !== "changed" || changesZones(change.previous, node);
      if (affectsZones) updateZones(queue);
      queue.add(name);
    });
    leases.onChange((change) => {
      const { namespace, name = "" } = change.object.metadata;
      if (namespace !== leaseNamespace || change.kind === "deleted" || !lastSeenAt.has(name)) return;
      const previous = change.kind === "changed" ? change.previous : undefined;
      if (isRenewal(previous, change.object)) lastSeenAt.set(name, clock.now());
    });
  }

  /** The states of the zones determine for all nodes whether pods are evicted. */
  function updateZones(queue: Pick<WorkQueue, "add">): void {
    const next = zonesOf(nodes.list());
    if (isEqual(Object.fromEntries(next), Object.fromEntries(zones))) return;
    if (isFullDisruption(zones) && !isFullDisruption(next)) {
      logger.info("some nodes are ready again; the grace periods of all nodes restart");
      for (const name of lastSeenAt.keys()) lastSeenAt.set(name, clock.now());
    }
    if (isFullDisruption(next) && !isFullDisruption(zones))
      logger.warn("no node is ready; evictions are cancelled");
    zones = next;
    for (const { metadata } of nodes.list()) queue.add(metadata.name ?? "");
  }

  async function reconcile(name: string): Promise<Reconciled> {
    const node = nodes.get(name);
    if (!node) return undefined;
    try {
      const silentInMs = await checkHealth(node);
      const evictInMs = await setTaints(node);
      if (readinessOf(node) === "Unknown") await markPodsNotReady(name);
      const requeueAfterMs = Math.min(silentInMs, evictInMs);
      return Number.isFinite(requeueAfterMs) ? { requeueAfterMs } : undefined;
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Returns the requeue delay. */
  async function checkHealth(node: Node): Promise<number> {
    const { name = "" } = node.metadata;
    const now = clock.now();
    const health = decideHealth(node, { ...timings, lastSeenAt: lastSeenAt.get(name) ?? now, now });
    // One millisecond later: the node is silent only after the grace period.
    if (health.kind === "healthy") return health.silentInMs + 1;
    if (!health.conditions) return Number.POSITIVE_INFINITY;
    if (await hasUnobservedRenewal(name)) return unobservedRenewalRequeueMs;
    const status = { ...node.status, conditions: health.conditions };
    await client.update("nodes", { ...node, status }, { subresource: "status", signal });
    if (readinessOf(node) === "True") {
      recordEvent(node, "NodeNotReady", `Node ${name} status is now: NodeNotReady`);
    }
    return Number.POSITIVE_INFINITY;
  }

  /** Whether the lease is newer in the API than in the informer. Rejects if the API is unreachable: then no node may be declared silent. */
  async function hasUnobservedRenewal(name: string): Promise<boolean> {
    const seen = leases.get(`${leaseNamespace}/${name}`)?.metadata.resourceVersion;
    // A list with a field selector: as upstream, this controller's account may not get leases.
    const only = { namespace: leaseNamespace, fieldSelector: `metadata.name=${name}` };
    const [lease] = (await reader.list("leases", { ...only, signal })).items;
    return lease !== undefined && lease.metadata.resourceVersion !== seen;
  }

  /** Returns the requeue delay. */
  async function setTaints(node: Node): Promise<number> {
    const { name = "", resourceVersion } = node.metadata;
    const now = clock.now();
    const zone = zoneOf(node);
    let eviction: EvictionMode = isFullDisruption(zones) ? "cancel" : "hold";
    let requeueAfterMs = Number.POSITIVE_INFINITY;
    if (eviction === "hold" && awaitsEviction(node)) {
      requeueAfterMs = limiter.take(zone, evictionRateOf(zones, zone), now);
      if (requeueAfterMs === 0) eviction = "evict";
    }
    const taints = decideTaints(node, { eviction, now });
    if (taints) {
      const patch = { kind: "merge", body: { metadata: { resourceVersion }, spec: { taints } } } as const;
      await client.patch("nodes", { name }, { patch, signal });
    }
    return eviction === "evict" ? Number.POSITIVE_INFINITY : requeueAfterMs;
  }

  /** Sets Ready to False for the pods of a silent node, because its kubelet no longer updates them. */
  async function markPodsNotReady(nodeName: string): Promise<void> {
    for (const pod of pods.list()) {
      if (pod.spec?.nodeName === nodeName && isReady(pod)) await markNotReady(pod);
    }
  }

  async function markNotReady(pod: Pod): Promise<void> {
    const condition = { type: "Ready", status: "False", lastTransitionTime: formatTime(clock.now()) };
    try {
      await writePodCondition(client, pod, { condition, signal });
      recorder.record(pod, { type: "Warning", reason: "NodeNotReady", message: "Node is not ready" });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  function recordEvent(node: Node, reason: string, message: string): void {
    recorder.record(node, { type: "Normal", reason, message });
  }

  return runController(context, { name: "node-lifecycle", watch, reconcile }, signal);
}

function changesZones(previous: Node, node: Node): boolean {
  return (
    readinessOf(previous) !== readinessOf(node) || !isEqual(previous.metadata.labels, node.metadata.labels)
  );
}

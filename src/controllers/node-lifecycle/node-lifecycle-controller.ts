import { isReady } from "../../api/conditions.ts";
import { formatTime } from "../../api/format-time.ts";
import { isEqual } from "../../api/is-equal.ts";
import type { Node, Pod } from "../../api/objects.ts";
import { isConflict, isNotFound } from "../../client/status-errors.ts";
import type { WorkQueue } from "../../client/work-queue.ts";
import { type ControllerContext, type Reconciled, runController } from "../run-controller.ts";
import { decideHealth, isHeartbeat, isRenewal, readinessOf, readyConditionOf } from "./decide-health.ts";
import { awaitsEviction, decideTaints, type EvictionLeave } from "./decide-taints.ts";
import { createEvictionLimiter } from "./eviction-limiter.ts";
import { writePodCondition } from "./write-pod-condition.ts";
import { evictionRateOf, isAllLost, surveyZones, type Zones, zoneOf } from "./zones.ts";

const leaseNamespace = "kube-node-lease";
const timings = { graceMs: 40_000, startupGraceMs: 60_000 };
/** When it could not be told whether a node is silent. */
const lookAgainMs = 5_000;

/** Notices nodes that are silent or not ready, and keeps pods away from them, until the signal aborts. */
export function runNodeLifecycleController(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, reader, clock, informers } = context;
  const logger = context.logger.component("node-lifecycle");
  const recorder = context.recorder("node-controller");
  const nodes = informers.of("nodes");
  const leases = informers.of("leases");
  const pods = informers.of("pods");
  const limiter = createEvictionLimiter();
  /** By our own clock: those of the nodes may be wrong. */
  const heardAt = new Map<string, number>();
  let zones: Zones = new Map();

  function watch(queue: Pick<WorkQueue, "add">): void {
    nodes.onChange((change) => {
      const { object: node } = change;
      const { name = "", creationTimestamp = "" } = node.metadata;
      if (change.kind === "added") {
        heardAt.set(
          name,
          readyConditionOf(node) ? clock.now() : Date.parse(creationTimestamp) || clock.now(),
        );
        say(node, "RegisteredNode", `Node ${name} event: Registered Node ${name} in Controller`);
      } else if (change.kind === "deleted") {
        heardAt.delete(name);
        say(node, "RemovingNode", `Node ${name} event: Removing Node ${name} from Controller`);
      } else if (isHeartbeat(change.previous, node)) {
        heardAt.set(name, clock.now());
      }
      const moves = change.kind !== "changed" || movesZones(change.previous, node);
      if (moves) survey(queue);
      queue.add(name);
    });
    leases.onChange((change) => {
      const { namespace, name = "" } = change.object.metadata;
      if (namespace !== leaseNamespace || change.kind === "deleted" || !heardAt.has(name)) return;
      const previous = change.kind === "changed" ? change.previous : undefined;
      if (isRenewal(previous, change.object)) heardAt.set(name, clock.now());
    });
  }

  /** How the zones stand decides for all their nodes whether pods have to leave. */
  function survey(queue: Pick<WorkQueue, "add">): void {
    const next = surveyZones(nodes.list());
    if (isEqual(Object.fromEntries(next), Object.fromEntries(zones))) return;
    if (isAllLost(zones) && !isAllLost(next)) {
      logger.info("some nodes are ready again: the others have their time anew");
      for (const name of heardAt.keys()) heardAt.set(name, clock.now());
    }
    if (isAllLost(next) && !isAllLost(zones)) logger.warn("no node is ready: no pod has to leave its node");
    zones = next;
    for (const { metadata } of nodes.list()) queue.add(metadata.name ?? "");
  }

  async function reconcile(name: string): Promise<Reconciled> {
    const node = nodes.get(name);
    if (!node) return undefined;
    try {
      const silentInMs = await checkHealth(node);
      const leaveInMs = await setTaints(node);
      if (readinessOf(node) === "Unknown") await markPodsNotReady(name);
      const againAfterMs = Math.min(silentInMs, leaveInMs);
      return Number.isFinite(againAfterMs) ? { againAfterMs } : undefined;
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** When to look again. */
  async function checkHealth(node: Node): Promise<number> {
    const { name = "" } = node.metadata;
    const now = clock.now();
    const health = decideHealth(node, { ...timings, heardAt: heardAt.get(name) ?? now, now });
    // A little later: it is silent only when its time is over.
    if (health.kind === "heard") return health.silentInMs + 1;
    if (!health.conditions) return Number.POSITIVE_INFINITY;
    if (await isRenewedUnseen(name)) return lookAgainMs;
    const status = { ...node.status, conditions: health.conditions };
    await client.update("nodes", { ...node, status }, { subresource: "status", signal });
    if (readinessOf(node) === "True") {
      say(node, "NodeNotReady", `Node ${name} status is now: NodeNotReady`);
    }
    return Number.POSITIVE_INFINITY;
  }

  /** It may be us who hear nothing. Fails when the API server cannot be asked: then nothing is known of any node. */
  async function isRenewedUnseen(name: string): Promise<boolean> {
    const seen = leases.get(`${leaseNamespace}/${name}`)?.metadata.resourceVersion;
    // A list of one: the account of this controller, upstream's, may not get leases.
    const only = { namespace: leaseNamespace, fieldSelector: `metadata.name=${name}` };
    const [lease] = (await reader.list("leases", { ...only, signal })).items;
    return lease !== undefined && lease.metadata.resourceVersion !== seen;
  }

  /** When to look again. */
  async function setTaints(node: Node): Promise<number> {
    const { name = "", resourceVersion } = node.metadata;
    const now = clock.now();
    const zone = zoneOf(node);
    let leave: EvictionLeave = isAllLost(zones) ? "spare" : "hold";
    let againAfterMs = Number.POSITIVE_INFINITY;
    if (leave === "hold" && awaitsEviction(node)) {
      againAfterMs = limiter.take(zone, evictionRateOf(zones, zone), now);
      if (againAfterMs === 0) leave = "evict";
    }
    const taints = decideTaints(node, { leave, now });
    if (taints) {
      const patch = { kind: "merge", body: { metadata: { resourceVersion }, spec: { taints } } } as const;
      await client.patch("nodes", { name }, { patch, signal });
    }
    return leave === "evict" ? Number.POSITIVE_INFINITY : againAfterMs;
  }

  /** Nobody else is left to say it. */
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

  function say(node: Node, reason: string, message: string): void {
    recorder.record(node, { type: "Normal", reason, message });
  }

  return runController(context, { name: "node-lifecycle", watch, reconcile }, signal);
}

function movesZones(previous: Node, node: Node): boolean {
  return (
    readinessOf(previous) !== readinessOf(node) || !isEqual(previous.metadata.labels, node.metadata.labels)
  );
}

import { controllerOf, isReady } from "../api/meta/object-facts.ts";
import type { Pod, StatefulSet } from "../api/meta/objects.ts";
import type { Client, ObjectKey } from "../client/api/client.ts";
import { podHealth } from "../explain/pod-health.ts";
import type { UnstickPolicy } from "../explain/rollout-policy.ts";
import type { Clock } from "../lib/clock.ts";
import { decideRecovery, policyOf, type Recovery } from "./decide-recovery.ts";
import { evictPod } from "./evict-pod.ts";
import { defaultGraceMs } from "./recover-controller.ts";

/** Progress of the recovery of one set. */
export type RecoveryStep =
  /** The decision about the set as it is now. */
  | { readonly kind: "decided"; readonly decision: Recovery; readonly invalid?: string }
  /** Waiting for the set's own controller before the pod is evicted. */
  | { readonly kind: "waiting"; readonly pod: Pod; readonly ms: number }
  /** The record of the eviction expires if it has a problem. */
  | { readonly kind: "evicted"; readonly pod: Pod; readonly recordProblem?: string }
  | { readonly kind: "failed"; readonly message: string }
  /** All pods run the update revision and are available, or the update goes on without help. */
  | { readonly kind: "recovered"; readonly evicted: number };

interface RecoverSetOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Only decides. */
  readonly dryRun: boolean;
  /** Policy of a set without one. */
  readonly policy: UnstickPolicy;
  /** Time that the set's own controller has to delete the pod. Defaults to 30 seconds. */
  readonly graceMs?: number;
}

const pollMs = 1_000;

/** Recovers one StatefulSet: evicts the pod in the way, waits for its replacement, and repeats until none is in the way. */
export async function* recoverSet(
  { client, clock, dryRun, policy: fallback, graceMs = defaultGraceMs }: RecoverSetOptions,
  key: Required<ObjectKey>,
  signal: AbortSignal,
): AsyncGenerator<RecoveryStep> {
  const namespace = await client.get("namespaces", { name: key.namespace }, { signal });
  let evicted = 0;
  let waited: { readonly uid: string | undefined; readonly untilMs: number } = { uid: undefined, untilMs: 0 };
  let replacing: Pod | undefined;
  let decided: Recovery | undefined;
  for (;;) {
    const set = await client.get("statefulsets", key, { signal });
    const pods = await podsOf(client, set, signal);
    const { policy, invalid } = policyOf(set, namespace, fallback);
    const decision = decideRecovery({ set, pods, policy, now: clock.now() });
    if (decision.kind === "none" && replacing && !isReplaced(replacing, pods, clock.now())) {
      await clock.sleep(pollMs, signal);
      continue;
    }
    replacing = undefined;
    if (!isSame(decision, decided)) yield { kind: "decided", decision, ...(invalid && { invalid }) };
    decided = decision;
    if (decision.kind === "none") {
      if (evicted > 0) yield { kind: "recovered", evicted };
      return;
    }
    if (decision.kind === "stuck" || dryRun) return;
    const { pod, reason, because } = decision;
    if (waited.uid !== pod.metadata.uid) {
      waited = { uid: pod.metadata.uid, untilMs: clock.now() + graceMs };
      yield { kind: "waiting", pod, ms: graceMs };
    }
    const leftMs = waited.untilMs - clock.now();
    if (leftMs > 0) {
      await clock.sleep(Math.min(pollMs, leftMs), signal);
      continue;
    }
    const outcome = await evictPod(client, { set, pod, reason, because, now: clock.now() }, signal);
    switch (outcome.kind) {
      case "evicted":
        evicted++;
        replacing = pod;
        yield { ...outcome, pod };
        break;
      case "changed":
        break;
      case "blocked":
        yield {
          kind: "failed",
          message: `pod ${pod.metadata.name} cannot be evicted now: ${outcome.message}`,
        };
        return;
      case "repeated":
        yield {
          kind: "failed",
          message: `pod ${pod.metadata.name} was evicted before for this update and came back in an older revision; delete it yourself if you want to try again`,
        };
        return;
    }
  }
}

async function podsOf(client: Client, set: StatefulSet, signal: AbortSignal): Promise<readonly Pod[]> {
  const { items } = await client.list("pods", { namespace: set.metadata.namespace, signal });
  return items.filter((pod) => controllerOf(pod)?.uid === set.metadata.uid);
}

/** Whether another pod has taken the place of an evicted one and is ready or has failed. */
function isReplaced({ metadata }: Pod, pods: readonly Pod[], now: number): boolean {
  const successor = pods.find((pod) => pod.metadata.name === metadata.name);
  if (!successor || successor.metadata.uid === metadata.uid) return false;
  return isReady(successor) || podHealth(successor, { now }).kind !== "progressing";
}

/** Whether two decisions are about the same pod. The words may differ: they count restarts. */
function isSame(a: Recovery, b: Recovery | undefined): boolean {
  if (a.kind === "none") return b?.kind === "none" && a.because === b.because;
  return b !== undefined && b.kind === a.kind && a.pod.metadata.uid === b.pod.metadata.uid;
}

// Clauses: 3085-9
import { isEqual } from "../../api/meta/is-equal.ts";
import type { PodCondition, PodStatus } from "../../api/meta/objects.ts";

/** Fields that only the kubelet writes. Lists of container statuses have no merge key and are sent completely. */
const ownFields = [
  "phase",
  "reason",
  "message",
  "observedGeneration",
  "startTime",
  "podIP",
  "hostIP",
  "containerStatuses",
  "initContainerStatuses",
] as const satisfies readonly (keyof PodStatus)[];

/** Lists that a strategic merge patch merges by address; a `$patch: replace` entry replaces them. */
const addressFields = ["podIPs", "hostIPs"] as const satisfies readonly (keyof PodStatus)[];

type Patch = Record<string, unknown>;

/** Strategic merge patch that turns the status `has` into `want`; undefined if they are equal. */
export function statusPatch(
  want: PodStatus,
  has: PodStatus,
  isOwned: (conditionType: string) => boolean,
): Patch | undefined {
  const patch: Patch = conditionsPatch(want, has, isOwned);
  for (const field of ownFields) {
    if (!isEqual(want[field], has[field])) patch[field] = want[field] ?? null;
  }
  for (const field of addressFields) {
    if (isEqual(want[field], has[field])) continue;
    patch[field] = want[field]?.length ? [{ $patch: "replace" }, ...want[field]] : null;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** Patches only conditions that the kubelet owns, so that stale copies of others are not written. */
function conditionsPatch(want: PodStatus, has: PodStatus, isOwned: (type: string) => boolean): Patch {
  const before = new Map(has.conditions?.map((condition) => [condition.type, condition]));
  const conditions = want.conditions ?? [];
  const changed = conditions
    .filter(({ type }) => isOwned(type))
    .flatMap((condition) => conditionPatch(condition, before.get(condition.type)) ?? []);
  if (changed.length === 0) return {};
  const grows = changed.some(({ type }) => !before.has(type));
  return {
    conditions: changed,
    ...(grows && { "$setElementOrder/conditions": conditions.map(({ type }) => ({ type })) }),
  };
}

/** The kubelet sets no probe time; another writer of the condition may have (`kindling conditions`). */
const conditionFields = [
  "status",
  "reason",
  "message",
  "lastTransitionTime",
  "lastProbeTime",
  "observedGeneration",
] as const;

function conditionPatch(
  want: PodCondition,
  has: PodCondition | undefined,
): (Patch & { type: string }) | undefined {
  if (!has) return { ...want };
  const changes = conditionFields
    .filter((field) => !isEqual(want[field], has[field]))
    .map((field) => [field, want[field] ?? null]);
  return changes.length > 0 ? { type: want.type, ...Object.fromEntries(changes) } : undefined;
}

// Clauses: 3085-9
/**
 * Rate limit for the status writes of one pod: a burst for all steps of a start, then one write per second. A crashing
 * sandbox then causes one write per second, and the last state is always written.
 */
const burst = 10;
const refillMs = 1_000;

export interface WriteBudget {
  readonly left: number;
  /** Time at which `left` was computed. */
  readonly atMs: number;
}

export function fullBudget(now: number): WriteBudget {
  return { left: burst, atMs: now };
}

/** Time until the next write is allowed; 0 if it is allowed now. */
export function budgetWaitMs(budget: WriteBudget, now: number): number {
  const { left, atMs } = refill(budget, now);
  return left > 0 ? 0 : atMs + refillMs - now;
}

export function spendOne(budget: WriteBudget, now: number): WriteBudget {
  const { left, atMs } = refill(budget, now);
  return { left: Math.max(0, left - 1), atMs };
}

function refill({ left, atMs }: WriteBudget, now: number): WriteBudget {
  // Writes must not be delayed when the clock was set back.
  if (now < atMs) return { left, atMs: now };
  const earned = Math.floor((now - atMs) / refillMs);
  return left + earned >= burst ? fullBudget(now) : { left: left + earned, atMs: atMs + earned * refillMs };
}

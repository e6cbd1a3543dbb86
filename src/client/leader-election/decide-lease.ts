import type { Lease } from "../../api/meta/objects.ts";
import { formatMicroTime } from "../../api/meta/time.ts";
import type { CallOptions, Client, ObjectKey } from "../api/client.ts";
import { isNotFound } from "../transport/status-errors.ts";

type LeaseSpec = NonNullable<Lease["spec"]>;

/** Content of a lease, and when this process first observed it. */
export interface Observation {
  readonly content: string;
  readonly at: number;
}

/** Measures by the local clock how long a lease is unchanged, because the holder's clock may be wrong. */
export function observeLease(previous: Observation | undefined, lease: Lease, now: number): Observation {
  const content = JSON.stringify(lease.spec ?? {});
  return previous?.content === content ? previous : { content, at: now };
}

export interface LeaseFacts {
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly now: number;
  readonly lease: Lease | undefined;
  /** When the current content was first observed. */
  readonly observedAt: number;
}

export type LeaseAction =
  | { readonly kind: "create"; readonly spec: LeaseSpec }
  | { readonly kind: "update"; readonly spec: LeaseSpec }
  | { readonly kind: "wait"; readonly holder: string };

export function decideLease({ identity, leaseDurationMs, now, lease, observedAt }: LeaseFacts): LeaseAction {
  const time = formatMicroTime(now);
  const ownSpec = {
    holderIdentity: identity,
    leaseDurationSeconds: Math.max(1, Math.trunc(leaseDurationMs / 1_000)),
    acquireTime: time,
    renewTime: time,
  };
  if (!lease) return { kind: "create", spec: { ...ownSpec, leaseTransitions: 0 } };

  const {
    holderIdentity: holder,
    leaseDurationSeconds,
    acquireTime,
    leaseTransitions = 0,
  } = lease.spec ?? {};
  if (holder === identity) {
    return { kind: "update", spec: { ...ownSpec, acquireTime: acquireTime ?? time, leaseTransitions } };
  }
  const validMs = leaseDurationSeconds === undefined ? leaseDurationMs : leaseDurationSeconds * 1_000;
  if (holder && now < observedAt + validMs) return { kind: "wait", holder };
  return { kind: "update", spec: { ...ownSpec, leaseTransitions: leaseTransitions + 1 } };
}

/** Lease content that allows the next candidate to acquire it immediately. */
export function releasedSpec(spec: LeaseSpec | undefined, now: number): LeaseSpec {
  const time = formatMicroTime(now);
  return {
    holderIdentity: "",
    leaseDurationSeconds: 1,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: spec?.leaseTransitions ?? 0,
  };
}

/** Reads a lease. Undefined if it does not exist. */
export async function readLease(
  client: Pick<Client, "get">,
  key: ObjectKey,
  options: CallOptions,
): Promise<Lease | undefined> {
  try {
    return await client.get("leases", key, options);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

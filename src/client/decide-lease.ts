import { formatMicroTime } from "../api/format-time.ts";
import type { Lease } from "../api/objects.ts";

type LeaseSpec = NonNullable<Lease["spec"]>;

/** What a lease said, and when this process saw it say so for the first time. */
export interface Observation {
  readonly said: string;
  readonly at: number;
}

/** Holders' clocks may be wrong: the time that counts is how long their lease has not changed by ours. */
export function observeLease(previous: Observation | undefined, lease: Lease, now: number): Observation {
  const said = JSON.stringify(lease.spec ?? {});
  return previous?.said === said ? previous : { said, at: now };
}

export interface LeaseFacts {
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly now: number;
  readonly lease: Lease | undefined;
  /** Of that lease. */
  readonly observedAt: number;
}

export type LeaseAction =
  | { readonly kind: "create"; readonly spec: LeaseSpec }
  | { readonly kind: "update"; readonly spec: LeaseSpec }
  | { readonly kind: "wait"; readonly holder: string };

export function decideLease({ identity, leaseDurationMs, now, lease, observedAt }: LeaseFacts): LeaseAction {
  const time = formatMicroTime(now);
  const mine = {
    holderIdentity: identity,
    leaseDurationSeconds: Math.max(1, Math.trunc(leaseDurationMs / 1_000)),
    acquireTime: time,
    renewTime: time,
  };
  if (!lease) return { kind: "create", spec: { ...mine, leaseTransitions: 0 } };

  const {
    holderIdentity: holder,
    leaseDurationSeconds,
    acquireTime,
    leaseTransitions = 0,
  } = lease.spec ?? {};
  if (holder === identity) {
    return { kind: "update", spec: { ...mine, acquireTime: acquireTime ?? time, leaseTransitions } };
  }
  const validMs = leaseDurationSeconds === undefined ? leaseDurationMs : leaseDurationSeconds * 1_000;
  if (holder && now < observedAt + validMs) return { kind: "wait", holder };
  return { kind: "update", spec: { ...mine, leaseTransitions: leaseTransitions + 1 } };
}

/** The next one need not wait. */
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

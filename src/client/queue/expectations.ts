import type { Clock } from "../../lib/clock.ts";

/** Creations and deletions that a controller requested and its informer has not yet delivered. */
interface Expected {
  readonly creations?: number;
  /** UIDs or keys, so that deletions of other objects are not counted. */
  readonly deletions?: readonly string[];
}

/**
 * Prevents a controller from acting on a cache that lacks its own last writes. Expectations are kept by the key of the
 * owner. Failed creations and deletions must be reported as observed.
 */
export interface Expectations {
  /** Sets the expectations before acting, replacing previous ones. */
  expect(key: string, expected: Expected): void;
  creationObserved(key: string): void;
  deletionObserved(key: string, deleted: string): void;
  /** True when all expectations are met, none exist, or they timed out. */
  satisfied(key: string): boolean;
  /** Removes the expectations of a deleted owner. */
  forget(key: string): void;
}

const timeoutMs = 5 * 60_000;

export function createExpectations({ clock }: { readonly clock: Clock }): Expectations {
  const pending = new Map<string, { creations: number; deletions: Set<string>; since: number }>();

  return {
    expect(key, { creations = 0, deletions = [] }) {
      pending.set(key, { creations, deletions: new Set(deletions), since: clock.now() });
    },
    creationObserved(key) {
      const expected = pending.get(key);
      if (expected) expected.creations--;
    },
    deletionObserved(key, deleted) {
      pending.get(key)?.deletions.delete(deleted);
    },
    satisfied(key) {
      const expected = pending.get(key);
      if (!expected) return true;
      const seen = expected.creations <= 0 && expected.deletions.size === 0;
      return seen || clock.now() - expected.since > timeoutMs;
    },
    forget: (key) => void pending.delete(key),
  };
}

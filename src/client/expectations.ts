import type { Clock } from "../lib/clock.ts";

/** What a controller has asked for and not yet seen come back through its informer. */
interface Expected {
  readonly creations?: number;
  /** By uid or by key, so that the deletion of another object is not taken for one of these. */
  readonly deletions?: readonly string[];
}

/**
 * Keeps a controller from acting on a copy of the world that its own last actions are missing from, by key of the object
 * that it is in charge of. What fails to be created or deleted must be reported as observed: it will not come.
 */
export interface Expectations {
  /** Before acting. Takes the place of what was expected before. */
  expect(key: string, expected: Expected): void;
  creationObserved(key: string): void;
  deletionObserved(key: string, deleted: string): void;
  /** All has come, or nothing was expected, or it has taken so long that waiting longer would not help. */
  satisfied(key: string): boolean;
  /** The object in charge is gone. */
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

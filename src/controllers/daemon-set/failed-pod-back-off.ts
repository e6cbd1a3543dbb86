/** Delays of deletions of failed pods by node name. A kubelet that rejects pods must not cause a hot loop. */
export type BackOffs = ReadonlyMap<string, BackOff>;

interface BackOff {
  readonly since: number;
  readonly delayMs: number;
}

const firstDelayMs = 1_000;
const maxDelayMs = 15 * 60_000;

/** Milliseconds until a failed pod on the node may be deleted. 0 if it may be deleted now. */
export function backOffMs(backOffs: BackOffs, node: string, now: number): number {
  const known = backOffs.get(node);
  if (!known || now - known.since >= known.delayMs) return 0;
  // The clock was set back if the time since the last deletion is negative.
  return Math.min(known.delayMs, known.since + known.delayMs - now);
}

/** Back-offs after failed pods on these nodes are deleted. Entries that have expired are dropped. */
export function recordDeletions(backOffs: BackOffs, nodes: Iterable<string>, now: number): BackOffs {
  const next = new Map([...backOffs].filter(([, { since }]) => now - since <= 2 * maxDelayMs));
  for (const node of nodes) {
    const known = next.get(node);
    const delayMs = known ? Math.min(2 * known.delayMs, maxDelayMs) : firstDelayMs;
    next.set(node, { since: now, delayMs });
  }
  return next;
}

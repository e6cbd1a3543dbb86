import { eventKind } from "../../api/kinds/core/event/kind.ts";
import type { Event } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import { eventTimeMs } from "../../api/meta/time.ts";
import type { Clock } from "../../lib/clock.ts";
import type { CachedObject } from "./cached-object.ts";
import { keyPrefix } from "./object-key.ts";
import type { ObjectStore } from "./object-store.ts";

/** Time after its last write after which an event is deleted: upstream's default of --event-ttl. */
const lifetimeMs = 3_600_000;

const deletesAtOnce = 50;

/**
 * Deletes events an hour after their last write. Writes have no time, but ascending revisions: an event is due if its
 * revision was reached at a check an hour ago. Events from before the start of the server are due by their own times.
 */
export function createEventExpiry({
  objectStore,
  clock,
}: {
  readonly objectStore: ObjectStore;
  readonly clock: Clock;
}): { deleteExpired(): Promise<void> } {
  const { resource } = eventKind;
  const firstRevision = objectStore.revision();
  /** Checks of the last hour, the oldest first. */
  const checks: { readonly atMs: number; readonly revision: number }[] = [];
  let expiredRevision = 0;
  let earlier: { readonly event: CachedObject; readonly writtenMs: number }[] | undefined;

  const all = () => objectStore.cache(resource).range(keyPrefix(resource));

  function findEarlier(now: number) {
    return [...all()]
      .filter(({ revision }) => revision <= firstRevision)
      .map((event) => ({ event, writtenMs: lastWriteMs(event.parse() as Event, now) }));
  }

  function findDue(now: number): CachedObject[] {
    checks.push({ atMs: now, revision: objectStore.revision() });
    while (checks[0] && checks[0].atMs <= now - lifetimeMs)
      expiredRevision = checks.shift()?.revision ?? expiredRevision;
    earlier ??= findEarlier(now);
    const due = earlier.filter(({ writtenMs }) => writtenMs <= now - lifetimeMs).map(({ event }) => event);
    if (due.length > 0) earlier = earlier.filter(({ writtenMs }) => writtenMs > now - lifetimeMs);
    if (expiredRevision <= firstRevision) return due;
    return [...due, ...[...all()].filter(({ revision }) => revision <= expiredRevision)];
  }

  /** Deletes the event unless it was written again. */
  async function remove(due: CachedObject): Promise<void> {
    const { namespace = "", name = "" } = due.parse().metadata;
    try {
      await objectStore.change({ resource, namespace, name }, ({ revision }) =>
        revision === due.revision ? { kind: "remove" } : { kind: "keep" },
      );
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 404) throw error;
    }
  }

  return {
    async deleteExpired() {
      const due = findDue(clock.now());
      for (let i = 0; i < due.length; i += deletesAtOnce)
        await Promise.all(due.slice(i, i + deletesAtOnce).map(remove));
    },
  };
}

/** Time of the last write. A time in the future is wrong and would keep the event. */
function lastWriteMs(event: Event, now: number): number {
  const createdMs = Date.parse(event.metadata.creationTimestamp ?? "") || 0;
  const occurredMs = eventTimeMs(event);
  return occurredMs > now ? Math.min(createdMs, now) : Math.max(createdMs, occurredMs);
}

import type { StoreEvent } from "../store.ts";
import { compacted, type StoreError } from "../store-error.ts";
import { expectPart } from "./etcd-error.ts";
import { type Event, Event_EventType as EventType } from "./generated/etcd.ts";
import type { EtcdKeys } from "./keys.ts";

/**
 * Parts what arrived of a watch into the events to deliver and those to hold back. A foreign transaction can change
 * several keys at one revision, and etcd can cut a large message anywhere, but a watch can only be resumed at a
 * revision. So the revision at the cut waits until all of it is here.
 */
export function splitAtCut(
  events: readonly Event[],
  { fragment }: { fragment: boolean },
): { whole: Event[]; cut: Event[] } {
  const cutRevision = fragment ? events.at(-1)?.kv?.modRevision : undefined;
  return {
    whole: events.filter((event) => event.kv?.modRevision !== cutRevision),
    cut: events.filter((event) => event.kv?.modRevision === cutRevision),
  };
}

/** The event, or `compacted` where etcd lost the value before the change to a compaction meanwhile. */
export function toStoreEvent(event: Event, keys: EtcdKeys): StoreEvent | StoreError {
  const kv = expectPart(event.kv, "the key of an event");
  const revision = kv.modRevision;
  const previous = event.prevKv && keys.toEntry(event.prevKv);
  if (event.type === EventType.PUT && (previous || kv.createRevision === revision)) {
    return { kind: "put", entry: keys.toEntry(kv), revision, previous };
  }
  if (!previous) return compacted(revision - 1, revision);
  return { kind: "delete", key: previous.key, revision, previous };
}

import type { Event } from "../api/objects.ts";
import type { CorrelatedEvent } from "./event-correlator.ts";

export type EventWriting = Exclude<CorrelatedEvent, { kind: "spam" }>;

/** Events that wait to be written: several at a time, but those about one object one after the other. */
export interface EventQueue {
  /** Answers with the one that finds no room. A warning takes the place of what is only normal. */
  add(writing: EventWriting): EventWriting | undefined;
  /** The next one that may be written now. It is there until it is `done`. */
  take(): EventWriting | undefined;
  done(writing: EventWriting): void;
  /** All that are left, in their order, also those that were taken and never done. */
  drain(): EventWriting[];
}

export function createEventQueue(capacity: number): EventQueue {
  const waiting: EventWriting[] = [];
  const taken = new Map<string, EventWriting>();

  return {
    add(writing) {
      if (waiting.length + taken.size < capacity) {
        waiting.push(writing);
        return undefined;
      }
      const place = isWarning(writing) ? waiting.findLastIndex((each) => !isWarning(each)) : -1;
      if (place < 0) return writing;
      const [victim] = waiting.splice(place, 1);
      waiting.push(writing);
      return victim;
    },
    take() {
      const place = waiting.findIndex(({ event }) => !taken.has(objectOf(event)));
      if (place < 0) return undefined;
      const [next] = waiting.splice(place, 1);
      if (next) taken.set(objectOf(next.event), next);
      return next;
    },
    done: ({ event }) => void taken.delete(objectOf(event)),
    drain() {
      const left = [...taken.values(), ...waiting.splice(0)];
      taken.clear();
      return left;
    },
  };
}

function isWarning({ event }: EventWriting): boolean {
  return event.type === "Warning";
}

function objectOf({ involvedObject: { kind, namespace, name, uid } }: Event): string {
  return `${kind}/${namespace}/${name}/${uid}`;
}

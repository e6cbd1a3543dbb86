import type { CreateResult, DeleteResult, Entry, StoreEvent, UpdateResult } from "../store.ts";

/** A write as asked for; the revision is the one that the key must have for it to happen. */
export type WriteRequest =
  | { readonly kind: "create"; readonly key: string; readonly value: Buffer }
  | { readonly kind: "update"; readonly key: string; readonly value: Buffer; readonly ifRevision: number }
  | { readonly kind: "delete"; readonly key: string; readonly ifRevision: number };

export type WriteResult = CreateResult | UpdateResult | DeleteResult;

export interface WriteDecision {
  result: WriteResult;
  /** What happens, when something does. */
  event?: StoreEvent;
}

/** Compare-and-set: what a write does to the entry that is there now. */
export function decideWrite(
  request: WriteRequest,
  current: Entry | undefined,
  nextRevision: number,
): WriteDecision {
  const { key } = request;
  switch (request.kind) {
    case "create": {
      if (current) return { result: { kind: "exists", current } };
      const entry = { key, value: request.value, revision: nextRevision };
      return {
        result: { kind: "created", revision: nextRevision },
        event: { kind: "put", entry, revision: nextRevision, previous: undefined },
      };
    }
    case "update": {
      if (current?.revision !== request.ifRevision) return { result: { kind: "conflict", current } };
      const entry = { key, value: request.value, revision: nextRevision };
      return {
        result: { kind: "updated", revision: nextRevision, previous: current },
        event: { kind: "put", entry, revision: nextRevision, previous: current },
      };
    }
    case "delete": {
      if (current?.revision !== request.ifRevision) return { result: { kind: "conflict", current } };
      return {
        result: { kind: "deleted", revision: nextRevision, previous: current },
        event: { kind: "delete", key, revision: nextRevision, previous: current },
      };
    }
  }
}

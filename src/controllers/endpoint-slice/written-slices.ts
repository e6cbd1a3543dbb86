import type { EndpointSlice } from "../../api/objects.ts";

interface Written {
  /** As it was written, or gone. */
  readonly generation: number | "gone";
  readonly at: number;
}

/**
 * What was written and has not yet come back: who decides without it would make the same slice twice. Forgotten after a
 * while, for what was undone in between may never come.
 */
export interface WrittenSlices {
  note(service: string, slice: EndpointSlice, now: number): void;
  noteGone(service: string, slice: EndpointSlice, now: number): void;
  /** The informer says so itself. */
  forget(service: string, slice: EndpointSlice): void;
  /** Whether slices are those of before the last writes. */
  isStale(service: string, slices: readonly EndpointSlice[], now: number): boolean;
}

export const patienceMs = 30_000;

export function createWrittenSlices(): WrittenSlices {
  const services = new Map<string, Map<string, Written>>();

  function put(service: string, { metadata: { uid = "" } }: EndpointSlice, written: Written): void {
    const known = services.get(service) ?? new Map();
    services.set(service, known.set(uid, written));
  }

  function drop(service: string, uid: string): void {
    const known = services.get(service);
    known?.delete(uid);
    if (known?.size === 0) services.delete(service);
  }

  return {
    note: (service, slice, at) => put(service, slice, { generation: slice.metadata.generation ?? 0, at }),
    noteGone: (service, slice, at) => put(service, slice, { generation: "gone", at }),
    forget: (service, slice) => drop(service, slice.metadata.uid ?? ""),
    isStale(service, slices, now) {
      let isStale = false;
      const seen = new Map(slices.map(({ metadata }) => [metadata.uid ?? "", metadata.generation ?? 0]));
      for (const [uid, { generation, at }] of services.get(service) ?? []) {
        const found = seen.get(uid);
        const hasCome =
          generation === "gone" ? found === undefined : found !== undefined && found >= generation;
        if (hasCome || now - at > patienceMs) drop(service, uid);
        else isStale = true;
      }
      return isStale;
    },
  };
}

// Clauses: 3542-14
import type { Event } from "../api/meta/objects.ts";
import { eventTimeMs } from "../api/meta/time.ts";
import type { ContainerPull } from "../lib/image/pull-progress.ts";

/** Events that begin, report or end a pull, by reason. */
const reasons = new Set(["Pulling", "Pulled", "Failed", "BackOff", "Created", "Started", "PullStalled"]);

/** Running pull without layers, which events do not have. */
type PullFromEvents = Omit<ContainerPull, "layers"> & { readonly layers: readonly [] };

/**
 * Finds running pulls in the progress events of a pod, which Kindling's kubelet and node agent record. They are older and have
 * no layers: for callers who cannot read the progress from the node.
 */
export function pullsFromEvents(events: readonly Event[]): readonly PullFromEvents[] {
  const byContainer = new Map<string, Event[]>();
  for (const event of events) {
    const container = /\{([^{}]+)\}$/.exec(event.involvedObject.fieldPath ?? "")?.[1];
    if (container === undefined || !reasons.has(event.reason ?? "")) continue;
    byContainer.set(container, [...(byContainer.get(container) ?? []), event]);
  }
  return [...byContainer].flatMap(([container, all]) => {
    const ordered = all.toSorted((a, b) => eventTimeMs(b) - eventTimeMs(a));
    const isRunning = ["Pulling", "PullStalled"].includes(ordered[0]?.reason ?? "");
    const last = ordered.find(({ message }) => progressIn(message));
    const progress = progressIn(last?.message);
    const start = ordered.find(({ message = "" }) => message.startsWith('Pulling image "'));
    if (!isRunning || !last || !progress || !start || eventTimeMs(last) < eventTimeMs(start)) return [];
    return [{ container, startedAt: new Date(eventTimeMs(start)).toISOString(), layers: [], ...progress }];
  });
}

/** Parses `Pulling Container image X: 1Gi of 4Gi`. */
function progressIn(message = ""): Pick<ContainerPull, "image" | "offset" | "total"> | undefined {
  const [, image, offset, total] =
    /^Pulling Container image (.+): ([\d.]+[KMGTP]?i?) of ([\d.]+[KMGTP]?i?)$/.exec(message) ?? [];
  if (image === undefined || offset === undefined || total === undefined) return undefined;
  return { image, offset: parseBinary(offset), total: parseBinary(total) };
}

const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

function parseBinary(text: string): number {
  const [, digits = "0", unit = ""] = /^([\d.]+)(\D*)$/.exec(text) ?? [];
  return Math.round(Number(digits) * 1_024 ** Math.max(0, units.indexOf(unit)));
}

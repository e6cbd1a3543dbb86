import { formatLabels } from "../../lib/format-labels.ts";
import type { PodRef } from "../measure/start-signal.ts";

/** As much as OpenMetrics lets an exemplar's labels have, names included. */
const longest = 128;
const namesLength = "namespacepod".length;

/** Which pod it was. A name that does not fit beside its namespace stands alone, and is cut where even that is too long. */
export function exemplarLabels({ namespace, name }: Pick<PodRef, "namespace" | "name">): string {
  const isShort = namesLength + namespace.length + name.length <= longest;
  return formatLabels(isShort ? { namespace, pod: name } : { pod: name.slice(0, longest - "pod".length) });
}

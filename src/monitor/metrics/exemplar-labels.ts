import type { PodRef } from "../measure/start-signal.ts";
import { formatLabels } from "./histogram.ts";

/** As much as OpenMetrics lets an exemplar's labels have, names included. */
const longest = 128;

/** Which pod it was. A name that does not fit beside its namespace stands alone, and is cut where even that is too long. */
export function exemplarLabels({ namespace, name }: Pick<PodRef, "namespace" | "name">): string {
  const both = { namespace, pod: name };
  const length = Object.entries(both).flat().join("").length;
  return formatLabels(length <= longest ? both : { pod: name.slice(0, longest - "pod".length) });
}

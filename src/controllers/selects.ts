import type { KubeObject, LabelSelector } from "../api/objects.ts";
import { labelSelectorOf, matchesLabels } from "../api/selector.ts";

/** Whether a workload wants an object by its labels. A selector that would fit everything fits nothing, as upstream. */
export function selects(
  { spec }: { readonly spec?: { readonly selector?: LabelSelector } },
  { metadata }: KubeObject,
): boolean {
  const selector = labelSelectorOf(spec?.selector);
  return selector !== undefined && selector.length > 0 && matchesLabels(selector, metadata.labels);
}

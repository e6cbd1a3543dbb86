import type { PolicyRule } from "../rbac/objects.ts";

/** Lists of words, separated by spaces or line ends. The word `core` stands for the group without a name. */
type Words = string;

export const read: Words = "get list watch";
export const write: Words = "create delete deletecollection patch update";

export function allow(verbs: Words, groups: Words, resources: Words, names?: Words): PolicyRule {
  return {
    apiGroups: words(groups).map((group) => (group === "core" ? "" : group)),
    resources: words(resources),
    ...(names && { resourceNames: words(names) }),
    verbs: words(verbs),
  };
}

export function allowPaths(verbs: Words, paths: Words): PolicyRule {
  return { nonResourceURLs: words(paths), verbs: words(verbs) };
}

export const writeEvents = allow("create patch update", "core events.k8s.io", "events");

function words(text: Words): string[] {
  return text.split(/\s+/);
}

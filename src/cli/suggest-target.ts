import { closestName } from "../lib/closest-name.ts";

/** What `kindling why` is asked about. */
export interface Target {
  readonly kind: "pod" | "statefulset";
  readonly name: string;
}

/** What a cluster has that may have been meant, as far as the user may see it. */
export interface Nearby {
  /** Where there is something of that kind and name. */
  readonly namespaces: readonly string[];
  /** In the namespace that was looked in. */
  readonly pods: readonly string[];
  readonly statefulSets: readonly string[];
}

const mostNames = 5;

/** For something that is not there: a sentence that says so, and what to ask for instead. */
export function suggestTarget({ kind, name }: Target, namespace: string, there: Nearby): string {
  const what = kind === "pod" ? "pod" : "StatefulSet";
  const missing = `there is no ${what} ${name} in the namespace ${namespace}`;
  const [elsewhere] = there.namespaces;
  if (elsewhere !== undefined) return `${missing}, but in ${listed(there.namespaces)}: add -n ${elsewhere}`;
  const [same, other] = kind === "pod" ? [there.pods, there.statefulSets] : [there.statefulSets, there.pods];
  if (other.includes(name))
    return kind === "pod"
      ? `${missing}, but a StatefulSet: ask for statefulset/${name}`
      : `${missing}, but a pod: ask for pod/${name}`;
  // A Deployment's name, or the beginning of a long one.
  const longer = same.filter((candidate) => candidate.startsWith(`${name}-`));
  if (longer.length > 0) return `${missing}; did you mean ${listed(longer)}?`;
  const near = closestName(name, same);
  if (near !== undefined) return `${missing}; did you mean ${near}?`;
  if (same.length > 0) return `${missing}; there ${same.length === 1 ? "is" : "are"} ${listed(same)}`;
  return `${missing}; kubectl get ${kind === "pod" ? "pods" : "statefulsets"} --all-namespaces shows what there is`;
}

function listed(names: readonly string[]): string {
  const more = names.length - mostNames;
  return names.slice(0, mostNames).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

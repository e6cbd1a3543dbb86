import { StatusError } from "../../api/meta/status-error.ts";
import type { Client } from "../../client/api/client.ts";
import { closestName } from "../../lib/closest-name.ts";
import { UsageError } from "../options/command-errors.ts";

/** Object that `kindling why` explains. */
export interface Target {
  readonly kind: TargetKind;
  readonly name: string;
}

type TargetKind = keyof typeof targetKinds;

interface KindNames {
  /** Kind as in messages. */
  readonly text: string;
  readonly resource:
    | "pods"
    | "statefulsets"
    | "deployments"
    | "replicasets"
    | "daemonsets"
    | "jobs"
    | "cronjobs";
  /** API group, which kubectl appends with a dot: `statefulset.apps/db`. */
  readonly group?: string;
  readonly shortName?: string;
}

/** Kinds that `kindling why` explains. */
export const targetKinds = {
  pod: { text: "pod", resource: "pods", shortName: "po" },
  statefulset: { text: "StatefulSet", resource: "statefulsets", group: "apps", shortName: "sts" },
  deployment: { text: "Deployment", resource: "deployments", group: "apps", shortName: "deploy" },
  replicaset: { text: "ReplicaSet", resource: "replicasets", group: "apps", shortName: "rs" },
  daemonset: { text: "DaemonSet", resource: "daemonsets", group: "apps", shortName: "ds" },
  job: { text: "Job", resource: "jobs", group: "batch" },
  cronjob: { text: "CronJob", resource: "cronjobs", group: "batch", shortName: "cj" },
} as const satisfies Record<string, KindNames>;

/** Parses `NAME` of a pod or `KIND/NAME`, with all spellings of the kind that kubectl accepts. */
export function parseTarget(text: string): Target {
  const [first = "", second, ...rest] = text.split("/");
  if (second === undefined && first !== "") return { kind: "pod", name: first };
  const kind = rest.length === 0 && second ? findKind(first.toLowerCase()) : undefined;
  if (kind && second) return { kind, name: second };
  throw new UsageError(
    `${text}: name a pod (web-0 or pod/web-0), statefulset/NAME, deployment/NAME, replicaset/NAME, daemonset/NAME, job/NAME or cronjob/NAME`,
  );
}

function findKind(word: string): TargetKind | undefined {
  const kinds: readonly (readonly [TargetKind, KindNames])[] = [
    ["pod", targetKinds.pod],
    ["statefulset", targetKinds.statefulset],
    ["deployment", targetKinds.deployment],
    ["replicaset", targetKinds.replicaset],
    ["daemonset", targetKinds.daemonset],
    ["job", targetKinds.job],
    ["cronjob", targetKinds.cronjob],
  ];
  const found = kinds.find(([kind, { resource, shortName, group }]) => {
    const plain = group ? word.replace(new RegExp(`(\\.v1)?\\.${group}$`), "") : word;
    return plain === kind || plain === resource || plain === shortName;
  });
  return found?.[0];
}

/** Objects that the user may have meant, as far as the user may list them. */
export interface Nearby {
  /** Namespaces with an object of this kind and name. */
  readonly namespaces: readonly string[];
  /** Pods in the requested namespace. */
  readonly pods: readonly string[];
  /** Workloads in the requested namespace. */
  readonly workloads: readonly Target[];
}

const maxNames = 5;

/** Message for an object that does not exist, with a suggestion what to use instead. */
export function suggestTarget({ kind, name }: Target, namespace: string, there: Nearby): string {
  const { text, resource } = targetKinds[kind];
  const missing = `there is no ${text} ${name} in the namespace ${namespace}`;
  const [elsewhere] = there.namespaces;
  if (elsewhere !== undefined)
    return `${missing}, but there is one in ${listed(there.namespaces)}: add -n ${elsewhere}`;
  const pods = there.pods.map((pod): Target => ({ kind: "pod", name: pod }));
  const other = [...there.workloads, ...pods].find((each) => each.kind !== kind && each.name === name);
  if (other) return `${missing}, but there is a ${targetKinds[other.kind].text}: use ${other.kind}/${name}`;
  const same = [...pods, ...there.workloads].filter((each) => each.kind === kind).map((each) => each.name);
  // The beginning of a long name.
  const longer = same.filter((candidate) => candidate.startsWith(`${name}-`));
  if (longer.length > 0) return `${missing}; did you mean ${listed(longer)}?`;
  const near = closestName(name, same);
  if (near !== undefined) return `${missing}; did you mean ${near}?`;
  if (same.length > 0) return `${missing}; there ${same.length === 1 ? "is" : "are"} ${listed(same)}`;
  return `${missing}; kubectl get ${resource} --all-namespaces lists all of them`;
}

function listed(names: readonly string[]): string {
  const more = names.length - maxNames;
  return names.slice(0, maxNames).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** Maximum number of objects to search, so that the search is cheap in a large cluster. */
const limit = 500;

/** Finds objects that the user may have meant. Omits those that the user may not list. */
export async function findNearby(
  client: Client,
  { kind, name, namespace }: Target & { readonly namespace: string },
  signal: AbortSignal,
): Promise<Nearby> {
  const find = async (
    resource: (typeof targetKinds)[Target["kind"]]["resource"],
    where: { readonly namespace?: string; readonly fieldSelector?: string },
  ) => {
    try {
      const { items } = await client.list(resource, { ...where, limit, signal });
      return items.map(({ metadata }) => metadata);
    } catch (error) {
      if (error instanceof StatusError) return [];
      throw error;
    }
  };
  const fieldSelector = `metadata.name=${name}`;
  const [same, pods, statefulSets, deployments] = await Promise.all([
    find(targetKinds[kind].resource, { fieldSelector }),
    find("pods", { namespace }),
    find("statefulsets", { namespace }),
    find("deployments", { namespace }),
  ]);
  const named = (metas: typeof same, of: Target["kind"]) =>
    metas.flatMap((metadata): Target[] => (metadata.name ? [{ kind: of, name: metadata.name }] : []));
  return {
    namespaces: same.flatMap((metadata) => metadata.namespace ?? []),
    pods: pods.flatMap((metadata) => metadata.name ?? []),
    workloads: [...named(statefulSets, "statefulset"), ...named(deployments, "deployment")],
  };
}

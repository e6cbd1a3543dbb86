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
  readonly resource: "pods" | "statefulsets" | "deployments" | "replicasets";
  /** API group, which kubectl appends with a dot: `statefulset.apps/db`. */
  readonly group?: string;
  readonly shortName: string;
}

/** Kinds that `kindling why` explains. */
export const targetKinds = {
  pod: { text: "pod", resource: "pods", shortName: "po" },
  statefulset: { text: "StatefulSet", resource: "statefulsets", group: "apps", shortName: "sts" },
  deployment: { text: "Deployment", resource: "deployments", group: "apps", shortName: "deploy" },
  replicaset: { text: "ReplicaSet", resource: "replicasets", group: "apps", shortName: "rs" },
} as const satisfies Record<string, KindNames>;

/** Parses `NAME` of a pod or `KIND/NAME`, with all spellings of the kind that kubectl accepts. */
export function parseTarget(text: string): Target {
  const [first = "", second, ...rest] = text.split("/");
  if (second === undefined && first !== "") return { kind: "pod", name: first };
  const kind = rest.length === 0 && second ? findKind(first.toLowerCase()) : undefined;
  if (kind && second) return { kind, name: second };
  throw new UsageError(
    `${text}: name a pod (web-0 or pod/web-0), statefulset/NAME, deployment/NAME or replicaset/NAME`,
  );
}

function findKind(word: string): TargetKind | undefined {
  const kinds: readonly (readonly [TargetKind, KindNames])[] = [
    ["pod", targetKinds.pod],
    ["statefulset", targetKinds.statefulset],
    ["deployment", targetKinds.deployment],
    ["replicaset", targetKinds.replicaset],
  ];
  const found = kinds.find(([kind, { resource, shortName, group }]) => {
    const plain = group ? word.replace(new RegExp(`(\\.v1)?\\.${group}$`), "") : word;
    return plain === kind || plain === resource || plain === shortName;
  });
  return found?.[0];
}

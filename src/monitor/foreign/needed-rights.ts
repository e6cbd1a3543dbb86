/** What the monitor must be allowed to do, as in the ClusterRole of examples/prometheus/cluster-role.yaml. */
export interface NeededRight {
  readonly verbs: readonly string[];
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** What does not work without it. */
  readonly without: string;
  readonly weight: "everything" | "a part" | "elsewhere than on loopback";
}

const read = ["list", "watch"];

export const neededRights: readonly NeededRight[] = [
  { verbs: read, group: "", resource: "pods", without: "nothing is measured", weight: "everything" },
  {
    verbs: read,
    group: "",
    resource: "events",
    without: "pulls are not measured, and missing secrets and config maps are held against the cluster",
    weight: "a part",
  },
  {
    verbs: read,
    group: "",
    resource: "persistentvolumeclaims",
    without: "StorageClasses are not told apart",
    weight: "a part",
  },
  { verbs: read, group: "", resource: "nodes", without: "the page shows no nodes", weight: "a part" },
  {
    verbs: read,
    group: "apps",
    resource: "statefulsets",
    without: "the page shows no StatefulSets",
    weight: "a part",
  },
  {
    verbs: ["get"],
    group: "",
    resource: "nodes",
    subresource: "proxy",
    without: "the page shows neither layers of pulls nor failures of startup probes",
    weight: "a part",
  },
  {
    verbs: ["create"],
    group: "authentication.k8s.io",
    resource: "tokenreviews",
    without: "nobody with a token can see the page or the metrics",
    weight: "elsewhere than on loopback",
  },
  {
    verbs: ["create"],
    group: "authorization.k8s.io",
    resource: "subjectaccessreviews",
    without: "nobody can see the page or the metrics",
    weight: "elsewhere than on loopback",
  },
];

/** `list and watch pods`, `get nodes/proxy` */
export function describeRight({ verbs, group, resource, subresource }: NeededRight): string {
  const name = `${resource}${group && `.${group}`}${subresource ? `/${subresource}` : ""}`;
  return `${verbs.join(" and ")} ${name}`;
}

import type { PodSandbox } from "../../cri/generated/cri.ts";

/** Identity of a kubelet. */
export interface KubeletIdentity {
  readonly nodeName: string;
  /** Random id in the kubelet's data directory. */
  readonly kubeletId: string;
  /** UID of the namespace kube-system. Undefined until the kubelet has read it for the first time. */
  readonly clusterUid: string | undefined;
}

/** Annotations that mark the kubelet of a sandbox. */
const markKeys = {
  nodeName: "kindling.dev/node-name",
  clusterUid: "kindling.dev/cluster-uid",
  /** Used only while the cluster UID is unknown: for static pods that start before the API server is reachable. */
  kubeletId: "kindling.dev/kubelet-id",
} as const;

interface SandboxMark {
  readonly nodeName: string;
  readonly clusterUid: string | undefined;
  readonly kubeletId: string | undefined;
}

type Annotations = Readonly<Record<string, string>>;

/** Annotations that mark a sandbox of this kubelet. */
export function markAnnotations({ nodeName, kubeletId, clusterUid }: KubeletIdentity): Annotations {
  const mark = { [markKeys.nodeName]: nodeName };
  return clusterUid
    ? { ...mark, [markKeys.clusterUid]: clusterUid }
    : { ...mark, [markKeys.kubeletId]: kubeletId };
}

/** Adds the mark to a pod's annotations and drops marks that the pod itself has set. */
export function withMark(annotations: Annotations, mark: Annotations): Record<string, string> {
  const keys: readonly string[] = Object.values(markKeys);
  return {
    ...Object.fromEntries(Object.entries(annotations).filter(([key]) => !keys.includes(key))),
    ...mark,
  };
}

/** Undefined for sandboxes of other programs and of versions of this kubelet that set no mark. */
export function readMark(annotations: Annotations): SandboxMark | undefined {
  const { [markKeys.nodeName]: nodeName, [markKeys.clusterUid]: clusterUid } = annotations;
  const kubeletId = annotations[markKeys.kubeletId];
  return nodeName === undefined ? undefined : { nodeName, clusterUid, kubeletId };
}

/** Whether a sandbox has the mark of this kubelet. */
export function hasMarkOf(annotations: Annotations, { nodeName, ...identity }: KubeletIdentity): boolean {
  const mark = readMark(annotations);
  if (mark?.nodeName !== nodeName) return false;
  if (mark.clusterUid !== undefined) return mark.clusterUid === identity.clusterUid;
  return mark.kubeletId === identity.kubeletId;
}

export type ListedSandbox = Pick<PodSandbox, "id" | "metadata" | "annotations">;

export interface OwnerFacts {
  readonly identity: KubeletIdentity;
  /** Ids of sandboxes that were adopted earlier. */
  readonly adopted: ReadonlySet<string>;
  /** Names of the directories with pod logs. */
  readonly logDirectories: ReadonlySet<string>;
}

type ClaimDecision =
  | {
      readonly kind: "claim";
      /** Ids of sandboxes that belong to this kubelet without its mark. */
      readonly unmarked: ReadonlySet<string>;
      /** Ids of those that must be recorded as adopted. */
      readonly adopted: ReadonlySet<string>;
    }
  | { readonly kind: "reject"; readonly notOwned: readonly ListedSandbox[] };

/**
 * Decides whether a kubelet may start with these sandboxes. A kubelet terminates pods that its API server does not
 * have, so it must not run with the sandboxes of another kubelet.
 */
export function decideClaim(
  sandboxes: readonly ListedSandbox[],
  facts: OwnerFacts,
  { adopt }: { readonly adopt: boolean },
): ClaimDecision {
  const notOwned = sandboxes.filter((sandbox) => !isOwnSandbox(sandbox, facts));
  if (notOwned.length > 0 && !adopt) return { kind: "reject", notOwned };
  const unmarked = sandboxes.filter(({ annotations }) => !hasMarkOf(annotations, facts.identity));
  const adopted = unmarked.filter((sandbox) => facts.adopted.has(sandbox.id) || notOwned.includes(sandbox));
  return { kind: "claim", unmarked: idsOf(unmarked), adopted: idsOf(adopted) };
}

/** Whether this kubelet created or adopted the sandbox. */
export function isOwnSandbox(sandbox: ListedSandbox, facts: OwnerFacts): boolean {
  return (
    hasMarkOf(sandbox.annotations, facts.identity) ||
    facts.adopted.has(sandbox.id) ||
    isOfEarlierVersion(sandbox, facts.logDirectories)
  );
}

function idsOf(sandboxes: readonly ListedSandbox[]): ReadonlySet<string> {
  return new Set(sandboxes.map(({ id }) => id));
}

/**
 * Whether an earlier version of this kubelet created the sandbox. Such versions set no mark, but created the pod's log
 * directory, whose name has the pod's UID, before each sandbox.
 */
function isOfEarlierVersion(
  { annotations, metadata }: ListedSandbox,
  logDirectories: ReadonlySet<string>,
): boolean {
  if (!metadata || readMark(annotations)) return false;
  return logDirectories.has(`${metadata.namespace}_${metadata.name}_${metadata.uid}`);
}

/** Error message: what was found, why the kubelet does not start, and what the operator can do. */
export function describeRefusal(notOwned: readonly ListedSandbox[], identity: KubeletIdentity): string {
  const [first] = notOwned;
  const { namespace = "", name = "" } = first?.metadata ?? {};
  const found = notOwned.length === 1 ? "1 pod sandbox" : `${notOwned.length} pod sandboxes`;
  const origins = new Set(notOwned.map((sandbox) => originOf(sandbox, identity)));
  return [
    `the runtime has ${found} that this kubelet did not create, for example ${namespace}/${name} (${first?.id}):`,
    `${[...origins].slice(0, 3).join(", ")}.`,
    "The kubelet does not start, because it would stop and remove the pods of another kubelet.",
    "Use another runtime, or remove these sandboxes (crictl rmp -f ID),",
    "or adopt them with --adopt-sandboxes; pods that this cluster does not have are then terminated.",
  ].join(" ");
}

function originOf({ annotations }: ListedSandbox, { nodeName, clusterUid }: KubeletIdentity): string {
  const mark = readMark(annotations);
  if (!mark) return "without an owner's mark";
  if (mark.nodeName !== nodeName) return `of the node ${mark.nodeName}`;
  if (mark.clusterUid === undefined) return "of a kubelet with another data directory";
  const own =
    clusterUid ?? "unknown: the data directory has no record of it and the API server does not respond";
  return `of the cluster ${mark.clusterUid} (this cluster's uid is ${own})`;
}

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

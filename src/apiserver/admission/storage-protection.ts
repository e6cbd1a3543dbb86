import type { KubeObject } from "../../api/objects.ts";

/** What keeps a claim while a pod uses it, and a volume while it is bound; their controller takes it away. */
const finalizers = {
  claim: "kubernetes.io/pvc-protection",
  volume: "kubernetes.io/pv-protection",
};

/** From the first moment: no delete comes before whoever would put it there later. */
export function admitStorageProtection({ metadata }: KubeObject, kind: keyof typeof finalizers): void {
  const finalizer = finalizers[kind];
  if (metadata.finalizers?.includes(finalizer)) return;
  metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
}

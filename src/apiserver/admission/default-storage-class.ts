import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Wire } from "../../api/objects.ts";

type Claim = KubeObject & Wire<k8s.V1PersistentVolumeClaim>;
type StorageClass = KubeObject & Wire<k8s.V1StorageClass>;

/** The annotation that was the field once. */
const oldClassAnnotation = "volume.beta.kubernetes.io/storage-class";
const defaultAnnotations = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

/** Gives a new claim that names no class the default one. The empty class is a choice too: it stays. */
export function admitDefaultStorageClass(claim: Claim, classes: readonly StorageClass[]): void {
  const annotated = claim.metadata.annotations?.[oldClassAnnotation] !== undefined;
  if (annotated || claim.spec?.storageClassName !== undefined) return;
  const chosen = defaultStorageClass(classes);
  if (chosen) claim.spec = { ...claim.spec, storageClassName: chosen.metadata.name };
}

/** Of several, the newest: that is how one default replaces another without a moment with none. */
function defaultStorageClass(classes: readonly StorageClass[]): StorageClass | undefined {
  return classes
    .filter(({ metadata }) => defaultAnnotations.some((key) => metadata.annotations?.[key] === "true"))
    .sort(
      (a, b) =>
        compare(b.metadata.creationTimestamp, a.metadata.creationTimestamp) ||
        compare(a.metadata.name, b.metadata.name),
    )[0];
}

function compare(a = "", b = ""): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

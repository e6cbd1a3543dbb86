import type { StorageClass } from "../../api/objects.ts";

/** Who makes volumes on the machine itself. */
export const localProvisioner = "kindling.dev/local";
const defaultAnnotation = "storageclass.kubernetes.io/is-default-class";

/** Of several, the newest: that is how one default replaces another without a moment with none. */
export function defaultClassOf(classes: readonly StorageClass[]): StorageClass | undefined {
  const age = ({ metadata }: StorageClass) => `${metadata.creationTimestamp ?? ""}`;
  return classes
    .filter(({ metadata }) => metadata.annotations?.[defaultAnnotation] === "true")
    .reduce<StorageClass | undefined>((newest, each) => {
      if (!newest || age(each) > age(newest)) return each;
      const isEarlier = (each.metadata.name ?? "") < (newest.metadata.name ?? "");
      return age(each) === age(newest) && isEarlier ? each : newest;
    }, undefined);
}

/** The class that a cluster begins with; undefined when it has one of that name. */
export function standardClass(classes: readonly StorageClass[]): StorageClass | undefined {
  if (classes.some(({ metadata }) => metadata.name === "standard")) return undefined;
  const isDefault = defaultClassOf(classes) === undefined;
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "standard", ...(isDefault && { annotations: { [defaultAnnotation]: "true" } }) },
    provisioner: localProvisioner,
    reclaimPolicy: "Delete",
    volumeBindingMode: "WaitForFirstConsumer",
  };
}

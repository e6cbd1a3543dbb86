import { controllerOf } from "../../api/controller-reference.ts";
import type { Pod } from "../../api/objects.ts";
import type { PodClass } from "./start-signal.ts";

export interface ClassSources {
  /** Labels and annotations that the operator chose. */
  readonly chosenLabels: readonly string[];
  readonly chosenAnnotations: readonly string[];
  /** The storage class of a claim, where it is known and has one. */
  storageClassOf(namespace: string, claim: string): string | undefined;
}

/** What a pod belongs to. Its claims may be made after it: this is asked when there is something to tell. */
export function classOf(pod: Pod, sources: ClassSources): PodClass {
  const { metadata, spec } = pod;
  const { namespace = "", name = "", labels = {}, annotations = {} } = metadata;
  const owner = controllerOf(pod);
  const volumes = spec?.volumes ?? [];
  const storageClasses = volumes.flatMap(({ name: volume, persistentVolumeClaim, ephemeral }) => {
    // The claim of an ephemeral volume is named after both.
    const claim = persistentVolumeClaim?.claimName ?? (ephemeral ? `${name}-${volume}` : undefined);
    return (claim && sources.storageClassOf(namespace, claim)) || [];
  });
  return {
    namespace,
    ownerKind: owner?.kind ?? "Pod",
    ownerName: owner?.name ?? name,
    revision: labels["controller-revision-hash"] ?? labels["pod-template-hash"] ?? "",
    runtimeClass: spec?.runtimeClassName ?? "",
    storageClasses: [...new Set(storageClasses)].sort(),
    volumes: volumes.length,
    chosen: Object.fromEntries([
      ...sources.chosenAnnotations.map((key) => [key, annotations[key] ?? ""]),
      ...sources.chosenLabels.map((key) => [key, labels[key] ?? ""]),
    ]),
  };
}

import type * as k8s from "@kubernetes/client-node";
import { ingressClassAnnotation } from "../../api/kinds/networking/ingress/kind.ts";
import { defaultIngressClassAnnotation } from "../../api/kinds/networking/ingress-class/kind.ts";
import { isEqual } from "../../api/meta/is-equal.ts";
import type {
  Ingress,
  IngressClass,
  KubeObject,
  Pod,
  PriorityClass,
  RuntimeClass,
  Wire,
} from "../../api/meta/objects.ts";

type Claim = KubeObject & Wire<k8s.V1PersistentVolumeClaim>;
type StorageClass = KubeObject & Wire<k8s.V1StorageClass>;

/** Annotation that preceded the field storageClassName. */
const oldClassAnnotation = "volume.beta.kubernetes.io/storage-class";
const defaultAnnotations = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

/** Sets the default class of a new claim that names none. The empty class is kept: it selects no class. */
export function setDefaultStorageClass(claim: Claim, classes: readonly StorageClass[]): void {
  const annotated = claim.metadata.annotations?.[oldClassAnnotation] !== undefined;
  if (annotated || claim.spec?.storageClassName !== undefined) return;
  const chosen = defaultClass(classes, defaultAnnotations);
  if (chosen) claim.spec = { ...claim.spec, storageClassName: chosen.metadata.name };
}

/** Sets the default class of a new Ingress that names none, in the field or in the old annotation. */
export function setDefaultIngressClass(ingress: Ingress, classes: readonly IngressClass[]): void {
  const annotated = ingress.metadata.annotations?.[ingressClassAnnotation] !== undefined;
  if (annotated || ingress.spec?.ingressClassName !== undefined) return;
  const chosen = defaultClass(classes, [defaultIngressClassAnnotation]);
  if (chosen) ingress.spec = { ...ingress.spec, ingressClassName: chosen.metadata.name };
}

/** The newest of several default classes, so that one default can replace another without a gap. */
function defaultClass<T extends KubeObject>(
  classes: readonly T[],
  annotations: readonly string[],
): T | undefined {
  return classes
    .filter(({ metadata }) => annotations.some((key) => metadata.annotations?.[key] === "true"))
    .sort(
      (a, b) =>
        compare(b.metadata.creationTimestamp, a.metadata.creationTimestamp) ||
        compare(a.metadata.name, b.metadata.name),
    )[0];
}

function compare(a = "", b = ""): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const taints = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
const seconds = 300;

/** Adds tolerations for five minutes on a node that is not ready or unreachable, where the pod has none. */
export function setDefaultTolerations(pod: Pod): void {
  pod.spec ??= { containers: [] };
  const { spec } = pod;
  for (const key of taints) {
    const tolerated = spec.tolerations?.some(
      (toleration) =>
        (!toleration.key || toleration.key === key) &&
        (!toleration.effect || toleration.effect === "NoExecute"),
    );
    if (tolerated) continue;
    const added = { key, operator: "Exists", effect: "NoExecute", tolerationSeconds: seconds };
    spec.tolerations = [...(spec.tolerations ?? []), added];
  }
}

/** Sets the priority from the priority class. Returns the reason when the pod is forbidden. */
export function setPriority(pod: Pod, classes: readonly PriorityClass[]): string | undefined {
  pod.spec ??= { containers: [] };
  const { spec } = pod;
  const name = spec.priorityClassName;
  const chosen = name
    ? classes.find((priorityClass) => priorityClass.metadata.name === name)
    : defaultPriorityClass(classes);
  if (name && !chosen) return `no PriorityClass with name ${name} was found`;

  const { value: priority = 0, preemptionPolicy: policy = "PreemptLowerPriority" } = chosen ?? {};
  if (spec.priority !== undefined && spec.priority !== priority) {
    return `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`;
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy) {
    return `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`;
  }
  if (chosen) spec.priorityClassName = chosen.metadata.name;
  spec.priority = priority;
  spec.preemptionPolicy = policy;
  return undefined;
}

/** The default class with the lowest value. */
function defaultPriorityClass(classes: readonly PriorityClass[]): PriorityClass | undefined {
  const defaults = classes.filter((priorityClass) => priorityClass.globalDefault);
  return defaults.sort((a, b) => (a.value ?? 0) - (b.value ?? 0))[0];
}

/** Returns the reason when a second default class is forbidden. */
export function checkPriorityClass(
  next: PriorityClass,
  classes: readonly PriorityClass[],
): string | undefined {
  const current = next.globalDefault ? defaultPriorityClass(classes) : undefined;
  if (!current || current.metadata.name === next.metadata.name) return undefined;
  return `PriorityClass ${current.metadata.name} is already marked as default. Only one default can exist`;
}

/**
 * Applies overhead and scheduling of the runtime class that a new pod names. Returns the reason when the pod is
 * forbidden.
 */
export function applyRuntimeClass(pod: Pod, runtimeClass: RuntimeClass | undefined): string | undefined {
  pod.spec ??= { containers: [] };
  const { spec } = pod;
  if (spec.runtimeClassName !== undefined && !runtimeClass) {
    return `pod rejected: RuntimeClass "${spec.runtimeClassName}" not found`;
  }
  const overhead = runtimeClass?.overhead?.podFixed;
  if (overhead) {
    if (Object.keys(spec.overhead ?? {}).length > 0 && !isEqual(spec.overhead, overhead)) {
      return "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
    }
    spec.overhead = { ...overhead };
  } else if (spec.overhead) {
    return "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
  }

  const { nodeSelector = {}, tolerations = [] } = runtimeClass?.scheduling ?? {};
  for (const [key, value] of Object.entries(nodeSelector)) {
    const own = spec.nodeSelector?.[key];
    if (own !== undefined && own !== value) {
      return `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`;
    }
    spec.nodeSelector = { ...spec.nodeSelector, [key]: value };
  }
  if (tolerations.length > 0) spec.tolerations = mergeTolerations(spec.tolerations ?? [], tolerations);
  return undefined;
}

/** Both lists, without tolerations that a toleration of the other list covers. */
function mergeTolerations(own: k8s.V1Toleration[], added: k8s.V1Toleration[]): k8s.V1Toleration[] {
  const kept = own.filter((narrow) => !added.some((wide) => !isEqual(wide, narrow) && covers(wide, narrow)));
  return [...kept, ...added.filter((narrow) => !own.some((wide) => covers(wide, narrow)))];
}

function covers(wide: k8s.V1Toleration, narrow: k8s.V1Toleration): boolean {
  if (isEqual(wide, narrow)) return true;
  if (wide.key !== narrow.key && (wide.key || wide.operator !== "Exists")) return false;
  if (wide.effect && wide.effect !== narrow.effect) return false;
  if (wide.effect === "NoExecute" && wide.tolerationSeconds !== undefined) {
    if (narrow.tolerationSeconds === undefined || narrow.tolerationSeconds > wide.tolerationSeconds) {
      return false;
    }
  }
  if (wide.operator === "Exists") return true;
  return (!wide.operator || wide.operator === "Equal") && (wide.value ?? "") === (narrow.value ?? "");
}

/** Finalizers that keep a claim while a pod uses it and a volume while it is bound. Their controller removes them. */
const finalizers = {
  claim: "kubernetes.io/pvc-protection",
  volume: "kubernetes.io/pv-protection",
};

/** Adds the finalizer on create, so that no delete precedes the controller that would add it. */
export function addProtectionFinalizer({ metadata }: KubeObject, kind: keyof typeof finalizers): void {
  const finalizer = finalizers[kind];
  if (metadata.finalizers?.includes(finalizer)) return;
  metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
}

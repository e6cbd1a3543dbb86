import { controllerOf } from "../api/meta/object-facts.ts";
import type { Container, KubeObject, Pod } from "../api/meta/objects.ts";

/** Name for kubectl commands, with `-n NAMESPACE` unless the namespace is `default`. */
export function inCommands({ metadata }: Pick<KubeObject, "metadata">): string {
  return `${metadata.name ?? ""}${namespaceFlag({ metadata })}`;
}

export function namespaceFlag({ metadata }: Pick<KubeObject, "metadata">): string {
  const { namespace = "default" } = metadata;
  return namespace === "default" ? "" : ` -n ${namespace}`;
}

/** Command that changes the image in the workload: a change of the pod alone is lost when it is recreated. */
export function changeImage({
  pod,
  container,
}: {
  readonly pod: Pod;
  readonly container: Container | undefined;
}): string {
  const owner = controllerOf(pod);
  const set = (what: string) => `kubectl set image ${what}${namespaceFlag(pod)} ${container?.name}=IMAGE`;
  // RollingUpdate does not replace a pod that never became ready.
  if (owner?.kind === "StatefulSet")
    return `${set(`statefulset/${owner.name}`)} && kubectl delete pod ${inCommands(pod)}`;
  const hash = pod.metadata.labels?.["pod-template-hash"];
  if (owner?.kind === "ReplicaSet" && hash && owner.name.endsWith(`-${hash}`))
    return set(`deployment/${owner.name.slice(0, -hash.length - 1)}`);
  return set(`pod/${pod.metadata.name}`);
}

/** Command that creates a missing ConfigMap or Secret. `kind` is written as in the kubelet's message. */
export function createObject(
  pod: Pod,
  { kind, name, key }: { readonly kind: string; readonly name: string; readonly key: string },
): string {
  const what = kind.toLowerCase() === "secret" ? "secret generic" : "configmap";
  return `kubectl create ${what} ${name}${namespaceFlag(pod)} --from-literal=${key}=VALUE`;
}

export function editObject(pod: Pod, kind: string, name: string): string {
  return `kubectl edit ${kind.toLowerCase()} ${name}${namespaceFlag(pod)}`;
}

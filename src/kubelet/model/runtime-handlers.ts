import type { NodeStatus, Pod, RuntimeClass } from "../../api/meta/objects.ts";

type FindRuntimeClass = (name: string) => RuntimeClass | undefined;

/** Runtime handler of the pod's RuntimeClass; empty (the default handler) for a pod without one. */
export function runtimeHandlerOf({ spec }: Pod, findRuntimeClass: FindRuntimeClass): string {
  const name = spec?.runtimeClassName;
  if (!name) return "";
  const found = findRuntimeClass(name);
  if (!found) throw new Error(`failed to get sandbox runtime: runtimeclass.node.k8s.io "${name}" not found`);
  return found.handler;
}

/** Whether the pod's runtime handler supports recursive read-only mounts, according to the node's status. */
export function canMountRecursively(
  { spec }: Pod,
  findRuntimeClass: FindRuntimeClass,
  handlers: NodeStatus["runtimeHandlers"] = [],
): boolean {
  const handler = findRuntimeClass(spec?.runtimeClassName ?? "")?.handler ?? "";
  const found = handlers.find(({ name = "" }) => name === handler);
  return found?.features?.recursiveReadOnlyMounts ?? false;
}

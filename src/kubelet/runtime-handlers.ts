import type { NodeStatus, Pod, RuntimeClass } from "../api/objects.ts";

/** The runtime handler that the pod's RuntimeClass names; the runtime's own choice (empty) for a pod without one. */
export function runtimeHandlerOf(
  { spec }: Pod,
  findRuntimeClass: (name: string) => RuntimeClass | undefined,
): string {
  const name = spec?.runtimeClassName;
  if (!name) return "";
  const found = findRuntimeClass(name);
  if (!found) throw new Error(`failed to get sandbox runtime: runtimeclass.node.k8s.io "${name}" not found`);
  return found.handler;
}

/** Whether a handler can mount read-only all the way down, as the node says of it. */
export function canMountRecursively(handler: string, known: NodeStatus["runtimeHandlers"] = []): boolean {
  const found = known.find(({ name = "" }) => name === handler);
  return found?.features?.recursiveReadOnlyMounts ?? false;
}

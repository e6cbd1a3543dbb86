import type { NodeStatus, Pod, RuntimeClass } from "../../api/meta/objects.ts";

/** Facts about the node that a container's configuration depends on. */
export interface ContainerNodeFacts {
  readonly memoryBytes: number;
  /** `status.allocatable` of the node. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** Addresses of the node, the primary one first. */
  readonly hostIps: readonly string[];
  readonly machine: MachineFacts;
}

/** Facts about the machine that do not change while it runs. */
export interface MachineFacts {
  readonly cgroupVersion: 1 | 2;
  /** Whether cgroups can limit swap. */
  readonly limitsSwap: boolean;
  readonly selinux: boolean;
  /** Names in the form that cgroups use: `2MB`, `1GB`. */
  readonly hugePageSizes: readonly string[];
  /** Sensors in /sys through which a container could observe other containers; masked. */
  readonly thermalPaths: readonly string[];
}

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

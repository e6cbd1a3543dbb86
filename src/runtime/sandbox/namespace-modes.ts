import { NamespaceMode, type PodSandboxConfig } from "../../cri/generated/cri.ts";

/** Whether a pod stays in the node's namespace of a kind. */
export function isHostNamespace(config: PodSandboxConfig, kind: "network" | "ipc" | "pid"): boolean {
  return config.linux?.securityContext?.namespaceOptions?.[kind] === NamespaceMode.NODE;
}

/**
 * Whether the containers of a pod see each other's processes, which takes a process that holds their namespace.
 * CRI's default is that they do; kubelets say CONTAINER unless the pod asks for sharing.
 */
export function sharesProcesses(config: PodSandboxConfig): boolean {
  const mode = config.linux?.securityContext?.namespaceOptions?.pid;
  return (mode ?? NamespaceMode.POD) === NamespaceMode.POD;
}

import type { Pod, PodSpec } from "../../api/objects.ts";
import {
  NamespaceMode,
  type NamespaceOption,
  type SELinuxOption,
  SupplementalGroupsPolicy,
} from "../../cri/generated/cri.ts";

/** Which namespaces of the node, of the pod or of its own each container runs in. */
export function namespaceOptions(spec: PodSpec | undefined): NamespaceOption {
  return {
    network: spec?.hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    ipc: spec?.hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: pidMode(spec),
    targetId: "",
    usernsOptions: undefined,
  };
}

function pidMode(spec: PodSpec | undefined): NamespaceMode {
  if (spec?.hostPID) return NamespaceMode.NODE;
  return spec?.shareProcessNamespace ? NamespaceMode.POD : NamespaceMode.CONTAINER;
}

/** To run it in the node's user namespace instead would take away what it was promised. */
export function refuseUserNamespace({ spec }: Pod): void {
  if (spec?.hostUsers !== false) return;
  throw new Error("spec.hostUsers: this node has no user namespaces for pods; leave the field out");
}

export interface Groups {
  readonly supplementalGroups: bigint[];
  readonly supplementalGroupsPolicy: SupplementalGroupsPolicy;
}

/** The group of the pod's volumes is one of every process. */
export function podGroups({ spec }: Pod): Groups {
  const { fsGroup, supplementalGroups = [], supplementalGroupsPolicy: policy } = spec?.securityContext ?? {};
  if (policy !== undefined && policy !== "Merge" && policy !== "Strict") {
    throw new Error(`unsupported supplementalGroupsPolicy: ${policy}`);
  }
  return {
    supplementalGroups: [...(fsGroup === undefined ? [] : [fsGroup]), ...supplementalGroups].map(BigInt),
    supplementalGroupsPolicy: SupplementalGroupsPolicy[policy ?? "Merge"],
  };
}

export function idValue(id: number | undefined): { value: bigint } | undefined {
  return id === undefined ? undefined : { value: BigInt(id) };
}

export function selinuxOption(options: Partial<SELinuxOption> | undefined): SELinuxOption | undefined {
  return options && { user: "", role: "", type: "", level: "", ...options };
}

import type {
  RuntimeConfigRequest,
  RuntimeConfigResponse,
  UpdateRuntimeConfigRequest,
  UpdateRuntimeConfigResponse,
} from "../../cri/generated/cri.ts";
import { CgroupDriver } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";

/** Cgroups are directories here, not systemd's slices: kubelets name pods' parents accordingly. */
export function runtimeConfig(): UnaryRpc<RuntimeConfigRequest, RuntimeConfigResponse> {
  return async () => ({ linux: { cgroupDriver: CgroupDriver.CGROUPFS } });
}

/** Kubelets announce the node's pod CIDR with it. Our networks have their own subnet: accepted, not used. */
export function updateRuntimeConfig(): UnaryRpc<UpdateRuntimeConfigRequest, UpdateRuntimeConfigResponse> {
  return async () => ({});
}

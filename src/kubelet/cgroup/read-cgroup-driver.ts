import { status } from "@grpc/grpc-js";
import type { CriClient } from "../../cri/cri-client.ts";
import { CgroupDriver } from "../../cri/generated/cri.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";

export type RuntimeCgroups = "cgroupfs" | "systemd" | "none";

/** Who makes the runtime's cgroups; "none" for one that has none. An older one (containerd 1.6) cannot be asked. */
export async function readCgroupDriver(
  cri: { readonly runtime: Pick<CriClient["runtime"], "runtimeConfig"> },
  { otherwise, signal }: { readonly otherwise: RuntimeCgroups; readonly signal: AbortSignal },
): Promise<RuntimeCgroups> {
  try {
    const { linux } = await cri.runtime.runtimeConfig({}, { signal });
    if (!linux) return "none";
    return linux.cgroupDriver === CgroupDriver.SYSTEMD ? "systemd" : "cgroupfs";
  } catch (error) {
    if (isGrpcError(error, status.UNIMPLEMENTED)) return otherwise;
    throw error;
  }
}

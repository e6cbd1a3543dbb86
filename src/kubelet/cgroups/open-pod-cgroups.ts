import { createHash } from "node:crypto";
import { rmdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { status } from "@grpc/grpc-js";
import { isFinalPhase } from "../../api/pod/pod-state.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { CgroupDriver } from "../../cri/generated/cri.ts";
import { cgroupDirs, detectCgroupLayout, removeCgroup } from "../../lib/cgroup/cgroup-layout.ts";
import type { Clock } from "../../lib/clock.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import type { KubeletConfiguration } from "../config/kubelet-configuration.ts";
import {
  createPodCgroups,
  noPodCgroups,
  type PodCgroups,
  type PodCgroupsOptions,
} from "./create-pod-cgroups.ts";
import { defaultCpuSettings } from "./linux-resources.ts";

interface OpenOptions extends Pick<PodCgroupsOptions, "cpus" | "pods" | "clock" | "logger"> {
  readonly config: Pick<KubeletConfiguration, "cgroupRoot" | "cgroupsPerQOS" | "cpuCFSQuota">;
  readonly driver: RuntimeCgroups;
  readonly nodeName: string;
  readonly dataDir: string;
}

/** Creates pod cgroups according to the configuration and the runtime's cgroup driver. */
export async function openPodCgroups(options: OpenOptions): Promise<PodCgroups> {
  const { config, driver, pods } = options;
  if (driver === "none" || !config.cgroupsPerQOS) return noPodCgroups;
  return createPodCgroups({
    ...options,
    settings: { driver, root: config.cgroupRoot || ownRoot(options) },
    ownRoot: config.cgroupRoot === "",
    cpu: { ...defaultCpuSettings, enforceQuota: config.cpuCFSQuota },
    pods: () => pods().filter(({ status }) => !isFinalPhase(status?.phase)),
  });
}

/** Removes the cgroups of a node that is stopped for good. A configured root is not removed. */
export async function removeNodeCgroups(options: {
  readonly nodeName: string;
  readonly dataDir: string;
  readonly clock: Clock;
}): Promise<void> {
  const root = ownRoot(options);
  const layout = detectCgroupLayout();
  await removeCgroup(layout, root, options.clock);
  // The common parent stays while other nodes use it.
  for (const dir of cgroupDirs(layout, dirname(root))) await rmdir(dir).catch(() => {});
}

/**
 * Root that is unique on the machine: nodes of different clusters can have the same name, but not the same directory.
 */
function ownRoot({ nodeName, dataDir }: Pick<OpenOptions, "nodeName" | "dataDir">): string {
  return `/kindling/${nodeName}-${createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 8)}`;
}

export type RuntimeCgroups = "cgroupfs" | "systemd" | "none";

/** Cgroup driver of the runtime; "none" if it uses no cgroups. Older runtimes (containerd 1.6) do not report it. */
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

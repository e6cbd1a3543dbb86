import { createHash } from "node:crypto";
import { rmdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isFinalPhase } from "../../api/pod-phase.ts";
import { cgroupDirs, detectCgroupLayout } from "../../lib/cgroup/cgroup-layout.ts";
import { removeCgroup } from "../../lib/cgroup/remove-cgroup.ts";
import type { Clock } from "../../lib/clock.ts";
import type { KubeletConfiguration } from "../configuration/kubelet-configuration.ts";
import { defaultCpuSettings } from "../container/linux-resources.ts";
import {
  createPodCgroups,
  noPodCgroups,
  type PodCgroups,
  type PodCgroupsOptions,
} from "./create-pod-cgroups.ts";
import type { RuntimeCgroups } from "./read-cgroup-driver.ts";

interface OpenOptions extends Pick<PodCgroupsOptions, "cpus" | "pods" | "clock" | "logger"> {
  readonly config: Pick<KubeletConfiguration, "cgroupRoot" | "cgroupsPerQOS" | "cpuCFSQuota">;
  readonly driver: RuntimeCgroups;
  readonly nodeName: string;
  readonly dataDir: string;
}

/** Those that the configuration and the runtime ask for. */
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

/** What is left of a node whose kubelet and pods are gone, or are to be. Where the root was configured, that is not ours. */
export async function removeNodeCgroups(options: {
  readonly nodeName: string;
  readonly dataDir: string;
  readonly clock: Clock;
}): Promise<void> {
  const root = ownRoot(options);
  const layout = detectCgroupLayout();
  await removeCgroup(layout, root, options.clock);
  // Where other nodes have theirs too it stays.
  for (const dir of cgroupDirs(layout, dirname(root))) await rmdir(dir).catch(() => {});
}

/** Kubelets of different clusters on one machine may have the same node's name, but not the same directory. */
function ownRoot({ nodeName, dataDir }: Pick<OpenOptions, "nodeName" | "dataDir">): string {
  return `/kindling/${nodeName}-${createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 8)}`;
}

import { execFile } from "node:child_process";
import { mkdir, rmdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Pod } from "../../api/meta/objects.ts";
import {
  type CgroupLayout,
  cgroupDirs,
  childrenOf,
  controllerDir,
  detectCgroupLayout,
  removeCgroup,
} from "../../lib/cgroup/cgroup-layout.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { type CpuSettings, cpuShares } from "./linux-resources.ts";
import {
  burstableLimits,
  type CgroupLimits,
  type CgroupSettings,
  cgroupParent,
  cgroupWrites,
  kubepodsCgroup,
  podLimits,
} from "./pod-cgroup.ts";

/** Cgroups of pods, in which the runtime creates the cgroups of containers. */
export interface PodCgroups {
  /**
   * Cgroup of the pod, created with the pod's limits if it does not exist. Empty lets the runtime choose the parent.
   */
  parentOf(pod: Pod): Promise<string>;
  /** Removes the pod's cgroup after the runtime has removed the pod. Idempotent. */
  remove(podUid: string): Promise<void>;
  /**
   * Removes cgroups of unknown pods, if the kubelet owns the root. A configured root may have cgroups of other
   * kubelets.
   */
  sweep(isKnown: (podUid: string) => boolean): Promise<void>;
  /** Removes the parent cgroups that have no pods. */
  close(): Promise<void>;
}

export interface PodCgroupsOptions {
  readonly settings: CgroupSettings;
  /** Whether the kubelet owns the root, and creates and removes it. */
  readonly ownRoot: boolean;
  readonly cpu: CpuSettings;
  /** Number of CPUs of the machine. */
  readonly cpus: number;
  /** Pods that count for the CPU shares of their QoS class. */
  readonly pods: () => readonly Pod[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Defaults to the layout of this machine. */
  readonly layout?: CgroupLayout;
}

/** Leaves the placement of containers to the runtime. */
export const noPodCgroups: PodCgroups = {
  parentOf: async () => "",
  remove: async () => {},
  sweep: async () => {},
  close: async () => {},
};

export async function createPodCgroups(options: PodCgroupsOptions): Promise<PodCgroups> {
  const { settings, logger } = options;
  if (settings.driver === "systemd") return systemdCgroups(options);
  const layout = options.layout ?? detectCgroupLayout();
  const [cpu, memory] = [controllerDir(layout, "cpu", "/"), controllerDir(layout, "memory", "/")];
  if (!cpu || !memory) {
    logger.warn(
      "the cpu and memory controllers are not available: the runtime places the cgroups of containers",
    );
    return noPodCgroups;
  }
  const cgroups = directoryCgroups(options, layout, { cpu, memory });
  try {
    await cgroups.prepare();
    return cgroups;
  } catch (error) {
    logger.warn("failed to create cgroups for pods: the runtime places the cgroups of containers", { error });
    return noPodCgroups;
  }
}

/**
 * systemd creates a pod's slice when the runtime asks for a scope in it. Pod-level limits would have to be set over
 * D-Bus, which is not implemented. Slices are not removed automatically.
 */
function systemdCgroups({ settings, logger }: Pick<PodCgroupsOptions, "settings" | "logger">): PodCgroups {
  return {
    ...noPodCgroups,
    parentOf: async (pod) => cgroupParent(pod, settings),
    async remove(podUid) {
      const stop = [
        "stop",
        "--no-block",
        ...possibleCgroups(podUid, settings).map((place) => basename(place)),
      ];
      await promisify(execFile)("systemctl", stop, { timeout: systemctlTimeoutMs }).catch((error) =>
        logger.debug("failed to stop the slice of a pod", { pod: podUid, error }),
      );
    },
  };
}

const systemctlTimeoutMs = 10_000;
const classes = [[], ["burstable"], ["besteffort"]] as const;

/** All possible cgroups of a pod: the QoS class of a removed pod is not known. */
function possibleCgroups(podUid: string, settings: CgroupSettings): string[] {
  return classes.map((names) => kubepodsCgroup(settings, [...names, `pod${podUid}`]));
}

function directoryCgroups(
  options: PodCgroupsOptions,
  layout: CgroupLayout,
  roots: Readonly<Record<"cpu" | "memory", string>>,
) {
  const { settings, cpu, logger } = options;
  const version = layout.kind === "v2" ? 2 : 1;
  const made = new Map<string, Promise<string>>();
  const classShares = new Map<string, number>();
  const below = (...names: readonly string[]) => kubepodsCgroup(settings, names);
  const own = options.ownRoot ? pathPrefixes(below()) : [below()];

  async function make(cgroup: string, limits: CgroupLimits): Promise<void> {
    for (const root of new Set([roots.cpu, roots.memory])) {
      await mkdir(join(root, cgroup), { recursive: true });
    }
    if (version === 2) await enableControllers(roots.cpu, dirname(cgroup));
    for (const { controller, file, value } of cgroupWrites(version, limits, cpu)) {
      await writeFile(join(roots[controller], cgroup, file), value);
    }
  }

  /** Updates the shares of a QoS class, which can change with each pod. */
  async function makeClass(className: string, limits: CgroupLimits): Promise<void> {
    if (classShares.get(className) === limits.cpuShares) return;
    await make(below(className), limits);
    classShares.set(className, limits.cpuShares);
  }

  async function makeForPod(pod: Pod): Promise<string> {
    const parent = cgroupParent(pod, settings);
    if (dirname(parent) === below("burstable")) await makeClass("burstable", burstableLimits(options.pods()));
    if (dirname(parent) === below("besteffort")) await makeClass("besteffort", { cpuShares: 2 });
    await make(parent, podLimits(pod, cpu));
    return parent;
  }

  async function remove(podUid: string): Promise<void> {
    made.delete(podUid);
    const places = possibleCgroups(podUid, settings);
    const stayed = await Promise.all(places.map((place) => removeCgroup(layout, place, options.clock)));
    if (stayed.flat().length > 0)
      logger.warn("failed to remove the cgroups of a pod", { pod: podUid, cgroups: stayed.flat() });
  }

  return {
    async prepare(): Promise<void> {
      // All pods together get the shares of all CPUs, at each level that the kubelet owns.
      const limits = { cpuShares: cpuShares(options.cpus * 1_000) };
      for (const cgroup of own) await make(cgroup, limits);
    },
    parentOf(pod: Pod): Promise<string> {
      const uid = pod.metadata.uid ?? "";
      const known = made.get(uid);
      if (known) return known;
      const making = makeForPod(pod);
      made.set(uid, making);
      making.catch(() => made.delete(uid));
      return making;
    },
    remove,
    async sweep(isKnown: (podUid: string) => boolean): Promise<void> {
      if (!options.ownRoot) return;
      const places = classes.flatMap((names) => cgroupDirs(layout, below(...names)));
      const names = places.flatMap(childrenOf).filter((name) => name.startsWith("pod"));
      const found = new Set(names.map((name) => name.slice("pod".length)));
      for (const podUid of found) if (!isKnown(podUid)) await remove(podUid);
    },
    async close(): Promise<void> {
      const last = [below("burstable"), below("besteffort"), ...own.toReversed()];
      for (const cgroup of last)
        for (const dir of cgroupDirs(layout, cgroup)) await rmdir(dir).catch(() => {});
    },
  };
}

/** Returns `/a`, `/a/b`, `/a/b/c` for `/a/b/c`. */
function pathPrefixes(cgroup: string): string[] {
  const parts = cgroup.split("/").filter(Boolean);
  return parts.map((_, depth) => `/${parts.slice(0, depth + 1).join("/")}`);
}

/** In cgroup v2 a limit is effective only if every parent enables the controller for its children. */
async function enableControllers(root: string, cgroup: string): Promise<void> {
  for (const step of ["/", ...pathPrefixes(cgroup)]) {
    await writeFile(join(root, step, "cgroup.subtree_control"), "+cpu +memory");
  }
}

import { execFile } from "node:child_process";
import { mkdir, rmdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Pod } from "../../api/objects.ts";
import {
  type CgroupLayout,
  cgroupDirs,
  controllerDir,
  detectCgroupLayout,
} from "../../lib/cgroup/cgroup-layout.ts";
import { childrenOf, removeCgroup } from "../../lib/cgroup/remove-cgroup.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { type CpuSettings, cpuShares } from "../container/linux-resources.ts";
import { type CgroupSettings, cgroupParent, kubepodsCgroup } from "./cgroup-parent.ts";
import { burstableLimits, type CgroupLimits, cgroupWrites, podLimits } from "./pod-limits.ts";

/** One cgroup for each pod, in which the runtime makes those of its containers. */
export interface PodCgroups {
  /** Made with the pod's limits, where it is not there yet. Empty leaves the place to the runtime. */
  parentOf(pod: Pod): Promise<string>;
  /** After the runtime has removed the pod. The same again does no harm. */
  remove(podUid: string): Promise<void>;
  /** Removes those of pods that nobody knows any more. */
  sweep(isKnown: (podUid: string) => boolean): Promise<void>;
  /** Leaves nothing where no pod is left. */
  close(): Promise<void>;
}

export interface PodCgroupsOptions {
  readonly settings: CgroupSettings;
  /** Whether the root is the kubelet's too, to be made and removed. */
  readonly ownRoot: boolean;
  readonly cpu: CpuSettings;
  /** Of the machine. */
  readonly cpus: number;
  /** Pods that have a share in this node now. */
  readonly pods: () => readonly Pod[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** This machine's unless told. */
  readonly layout?: CgroupLayout;
}

/** The runtime decides where containers are. */
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
      "there are no cgroups for pods here: their containers have those that the runtime gives them",
    );
    return noPodCgroups;
  }
  const cgroups = directoryCgroups(options, layout, { cpu, memory });
  try {
    await cgroups.prepare();
    return cgroups;
  } catch (error) {
    logger.warn("pods get no cgroups of their own: they cannot be made here", { error });
    return noPodCgroups;
  }
}

/**
 * systemd makes the slice of a pod when the runtime asks for a scope in it; limits of the pod as a whole would have to be
 * set over D-Bus and are not. A slice does not go by itself.
 */
function systemdCgroups({ settings, logger }: Pick<PodCgroupsOptions, "settings" | "logger">): PodCgroups {
  return {
    ...noPodCgroups,
    parentOf: async (pod) => cgroupParent(pod, settings),
    async remove(podUid) {
      const stop = ["stop", "--no-block", ...placesOf(podUid, settings).map((place) => basename(place))];
      await promisify(execFile)("systemctl", stop, { timeout: systemctlTimeoutMs }).catch((error) =>
        logger.debug("the slice of a pod was not stopped", { pod: podUid, error }),
      );
    },
  };
}

const systemctlTimeoutMs = 10_000;
const classes = [[], ["burstable"], ["besteffort"]] as const;

/** Where a pod's cgroup may be: of one that is gone nobody knows the class any more. */
function placesOf(podUid: string, settings: CgroupSettings): string[] {
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
  const own = options.ownRoot ? stepsTo(below()) : [below()];

  async function make(cgroup: string, limits: CgroupLimits): Promise<void> {
    for (const root of new Set([roots.cpu, roots.memory])) {
      await mkdir(join(root, cgroup), { recursive: true });
    }
    if (version === 2) await handControllersDown(roots.cpu, dirname(cgroup));
    for (const { controller, file, value } of cgroupWrites(version, limits, cpu)) {
      await writeFile(join(roots[controller], cgroup, file), value);
    }
  }

  /** What the class of a pod weighs may change with each pod. */
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
    const places = placesOf(podUid, settings);
    const stayed = await Promise.all(places.map((place) => removeCgroup(layout, place, options.clock)));
    if (stayed.flat().length > 0)
      logger.warn("a pod's cgroup does not go", { pod: podUid, cgroups: stayed.flat() });
  }

  return {
    async prepare(): Promise<void> {
      // Pods together weigh as much as the machine has processors, at each step down that is the kubelet's own.
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

/** `/a`, `/a/b`, `/a/b/c` for `/a/b/c`. */
function stepsTo(cgroup: string): string[] {
  const parts = cgroup.split("/").filter(Boolean);
  return parts.map((_, depth) => `/${parts.slice(0, depth + 1).join("/")}`);
}

/** With version 2 a limit works only where every cgroup above hands its controller down. */
async function handControllersDown(root: string, cgroup: string): Promise<void> {
  for (const step of ["/", ...stepsTo(cgroup)]) {
    await writeFile(join(root, step, "cgroup.subtree_control"), "+cpu +memory");
  }
}

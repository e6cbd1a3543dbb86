import { posix } from "node:path";
import type { Pod } from "../../api/meta/objects.ts";
import {
  addQuantities,
  milliUnits,
  parseQuantity,
  type Quantity,
  wholeUnits,
} from "../../api/meta/quantity.ts";
import { containersOf } from "../../api/pod/pod-containers.ts";
import { podRequests, podResources } from "../../api/pod/pod-resources.ts";
import { weightFromShares } from "../../lib/cgroup/cgroup-layout.ts";
import { type CpuSettings, cpuQuotaUs, cpuShares, qosClass } from "./linux-resources.ts";

export interface CgroupSettings {
  /** Cgroup driver; must equal the runtime's. */
  readonly driver: "cgroupfs" | "systemd";
  /** Parent of `kubepods`. */
  readonly root: string;
}

/** Cgroup of a pod below that of its QoS class: `/kubepods/burstable/pod<uid>`. */
export function cgroupParent(pod: Pod, settings: CgroupSettings): string {
  const quality = qosClass(pod);
  const ofClass = quality === "Guaranteed" ? [] : [quality.toLowerCase()];
  return kubepodsCgroup(settings, [...ofClass, `pod${pod.metadata.uid}`]);
}

/** Cgroup below `kubepods` in the notation of the driver. */
export function kubepodsCgroup({ driver, root }: CgroupSettings, below: readonly string[]): string {
  const parts = [...root.split("/").filter(Boolean), "kubepods", ...below];
  // In systemd's notation, a dash separates levels, and the name of a slice repeats all of its parents.
  const slices = parts.map((part) => part.replaceAll("-", "_"));
  const names = slices.map((_, depth) => `${slices.slice(0, depth + 1).join("-")}.slice`);
  return posix.join("/", ...(driver === "systemd" ? names : parts));
}

/** Limits of a cgroup. An undefined limit is not set. */
export interface CgroupLimits {
  readonly cpuShares: number;
  readonly cpuQuotaUs?: number;
  readonly memoryBytes?: number;
}

/** Limits of the whole pod. */
export function podLimits(pod: Pod, { enforceQuota, quotaPeriodUs }: CpuSettings): CgroupLimits {
  const cpu = podLimit(pod, "cpu");
  const memory = podLimit(pod, "memory");
  return {
    cpuShares: cpuShares(milliUnits(podRequests(pod).get("cpu") ?? parseQuantity("0"))),
    ...(cpu && enforceQuota && { cpuQuotaUs: cpuQuotaUs(milliUnits(cpu), quotaPeriodUs) }),
    ...(memory && { memoryBytes: wholeUnits(memory) }),
  };
}

/** Shares of the Burstable class: the sum of its pods' requests. */
export function burstableLimits(pods: readonly Pod[]): CgroupLimits {
  const requests = pods
    .filter((pod) => qosClass(pod) === "Burstable")
    .map((pod) => milliUnits(podRequests(pod).get("cpu") ?? parseQuantity("0")));
  return { cpuShares: cpuShares(requests.reduce((sum, one) => sum + one, 0)) };
}

/** Pod-level limit including overhead. As upstream, there is none if a container has no limit and the pod sets none. */
export function podLimit({ spec }: Pod, name: "cpu" | "memory"): Quantity | undefined {
  const ofPod = spec?.resources?.limits?.[name] !== undefined;
  const ofEach = containersOf(spec).every(
    ({ resources }) => parseQuantity(resources?.limits?.[name] ?? "0").nanos > 0n,
  );
  const limit = podResources(spec, "limits").get(name);
  if (!limit || !(ofPod || ofEach)) return undefined;
  return addQuantities(limit, parseQuantity(spec?.overhead?.[name] ?? "0"));
}

export interface CgroupWrite {
  readonly controller: "cpu" | "memory";
  readonly file: string;
  readonly value: string;
}

/** Files and values that set the limits. */
export function cgroupWrites(
  version: 1 | 2,
  limits: CgroupLimits,
  { quotaPeriodUs }: CpuSettings,
): CgroupWrite[] {
  const { cpuShares: shares, cpuQuotaUs: quota, memoryBytes: memory } = limits;
  const write = (controller: "cpu" | "memory", file: string, value: string | number) => ({
    controller,
    file: `${controller}.${file}`,
    value: String(value),
  });
  if (version === 2) {
    return [
      write("cpu", "weight", weightFromShares(shares)),
      ...(quota === undefined ? [] : [write("cpu", "max", `${quota} ${quotaPeriodUs}`)]),
      ...(memory === undefined ? [] : [write("memory", "max", memory)]),
    ];
  }
  return [
    write("cpu", "shares", shares),
    ...(quota === undefined
      ? []
      : [write("cpu", "cfs_period_us", quotaPeriodUs), write("cpu", "cfs_quota_us", quota)]),
    ...(memory === undefined ? [] : [write("memory", "limit_in_bytes", memory)]),
  ];
}

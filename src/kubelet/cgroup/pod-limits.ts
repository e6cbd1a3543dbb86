import type { Pod } from "../../api/objects.ts";
import { containersOf } from "../../api/pod-containers.ts";
import { podRequests, podResources } from "../../api/pod-resources.ts";
import { addQuantities, milliUnits, parseQuantity, type Quantity, wholeUnits } from "../../api/quantity.ts";
import { weightFromShares } from "../../lib/cgroup/weight-from-shares.ts";
import { type CpuSettings, cpuQuotaUs, cpuShares } from "../container/linux-resources.ts";
import { qosClass } from "../container/qos.ts";

/** What a cgroup of the kubelet's may use; no limit where there is none. */
export interface CgroupLimits {
  readonly cpuShares: number;
  readonly cpuQuotaUs?: number;
  readonly memoryBytes?: number;
}

/** The limits of a pod as a whole. */
export function podLimits(pod: Pod, { enforceQuota, quotaPeriodUs }: CpuSettings): CgroupLimits {
  const cpu = podLimit(pod, "cpu");
  const memory = podLimit(pod, "memory");
  return {
    cpuShares: cpuShares(milliUnits(podRequests(pod).get("cpu") ?? parseQuantity("0"))),
    ...(cpu && enforceQuota && { cpuQuotaUs: cpuQuotaUs(milliUnits(cpu), quotaPeriodUs) }),
    ...(memory && { memoryBytes: wholeUnits(memory) }),
  };
}

/** Pods that may use more than they asked for weigh together what they asked for. */
export function burstableLimits(pods: readonly Pod[]): CgroupLimits {
  const requests = pods
    .filter((pod) => qosClass(pod) === "Burstable")
    .map((pod) => milliUnits(podRequests(pod).get("cpu") ?? parseQuantity("0")));
  return { cpuShares: cpuShares(requests.reduce((sum, one) => sum + one, 0)) };
}

/**
 * The most that a pod may use, its overhead included. As upstream: where one container has no limit, and the pod says
 * none for all of them, it has none either.
 */
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

/** The files that limits are written to. */
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

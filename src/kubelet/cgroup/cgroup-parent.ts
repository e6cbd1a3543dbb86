import { posix } from "node:path";
import type { Pod } from "../../api/objects.ts";
import { qosClass } from "../container/qos.ts";

export interface CgroupSettings {
  /** The runtime's own; it has to be the same. */
  readonly driver: "cgroupfs" | "systemd";
  /** Under which `kubepods` is. */
  readonly root: string;
}

/** The cgroup of a pod, under that of its class: `/kubepods/burstable/pod<uid>`. */
export function cgroupParent(pod: Pod, settings: CgroupSettings): string {
  const quality = qosClass(pod);
  const ofClass = quality === "Guaranteed" ? [] : [quality.toLowerCase()];
  return kubepodsCgroup(settings, [...ofClass, `pod${pod.metadata.uid}`]);
}

/** A cgroup below `kubepods`, as the driver writes it. */
export function kubepodsCgroup({ driver, root }: CgroupSettings, below: readonly string[]): string {
  const parts = [...root.split("/").filter(Boolean), "kubepods", ...below];
  // systemd writes a step down as a dash and repeats in each slice's name those it is in.
  const slices = parts.map((part) => part.replaceAll("-", "_"));
  const names = slices.map((_, depth) => `${slices.slice(0, depth + 1).join("-")}.slice`);
  return posix.join("/", ...(driver === "systemd" ? names : parts));
}

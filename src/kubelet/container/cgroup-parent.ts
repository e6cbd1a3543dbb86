import { posix } from "node:path";
import type { Pod } from "../../api/objects.ts";
import { qosClass } from "./qos.ts";

export interface CgroupSettings {
  /** The runtime's own; it has to be the same. */
  readonly driver: "cgroupfs" | "systemd";
  /** Under which `kubepods` is; `/` unless told. */
  readonly root: string;
}

/** The cgroup of a pod, under that of its class: `/kubepods/burstable/pod<uid>`. */
export function cgroupParent(pod: Pod, { driver, root }: CgroupSettings): string {
  const quality = qosClass(pod);
  const parts = [
    ...root.split("/").filter(Boolean),
    "kubepods",
    ...(quality === "Guaranteed" ? [] : [quality.toLowerCase()]),
    `pod${pod.metadata.uid}`,
  ];
  // systemd writes a step down as a dash and repeats in each slice's name those it is in.
  const slices = parts.map((part) => part.replaceAll("-", "_"));
  const names = slices.map((_, depth) => `${slices.slice(0, depth + 1).join("-")}.slice`);
  return posix.join("/", ...(driver === "systemd" ? names : parts));
}

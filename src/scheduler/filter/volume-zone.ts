import type { PersistentVolume } from "../../api/objects.ts";
import { labelOf } from "../node-info.ts";
import { type Filter, final, type Prepared, pass } from "./filter.ts";

const otherZone = final("node(s) had no available volume zone");

const zoneLabels = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];
const oldLabels = new Map([
  ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"],
  ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"],
]);
const allLabels = [...zoneLabels, ...oldLabels.keys()];

/** Volumes that say by their labels, and not by a node affinity, where they can be reached. */
export const volumeZone: Filter = {
  name: "VolumeZone",
  prepare(info, { objects }): Prepared {
    const zones: Zone[] = [];
    for (const { claimName, isEphemeral } of info.volumes) {
      const volumeName = isEphemeral
        ? undefined
        : objects.claim(`${info.namespace}/${claimName}`)?.spec?.volumeName;
      const volume = volumeName ? objects.volume(volumeName) : undefined;
      if (volumeName && !volume) {
        return { kind: "reject", reason: `persistentvolume "${volumeName}" not found` };
      }
      if (volume) zones.push(...zonesOf(volume));
    }
    if (zones.length === 0) return pass;
    return {
      kind: "check",
      check({ labels }) {
        if (!allLabels.some((key) => labelOf(labels, key) !== undefined)) return undefined;
        const isWithin = zones.every(({ key, values }) => {
          const value = labelOf(labels, key) ?? labelOf(labels, oldLabels.get(key) ?? key);
          return value !== undefined && values.includes(value);
        });
        return isWithin ? undefined : otherZone;
      },
    };
  },
};

interface Zone {
  readonly key: string;
  readonly values: readonly string[];
}

/** Several zones are written with two underscores between them. */
function zonesOf({ metadata }: PersistentVolume): readonly Zone[] {
  return allLabels.flatMap((key) => {
    const value = labelOf(metadata.labels, key);
    return value ? [{ key, values: value.split("__") }] : [];
  });
}

import type { PersistentVolume, Volume } from "../../api/meta/objects.ts";
import { labelOf, type NodeInfo } from "../model/node-info.ts";
import type { PodInfo } from "../model/pod-info.ts";
import { planForNode, sortClaims } from "../volumes/plan-volumes.ts";
import { type Filter, type Prepared, pass, resolvable, unresolvable } from "./filter.ts";

const diskTaken = resolvable("node(s) had no available disk");
const claimTaken = resolvable(
  "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
);

/** Rejects nodes whose disks, or claims with ReadWriteOncePod, are in use by another pod. */
export const volumeRestrictions: Filter = {
  name: "VolumeRestrictions",
  prepare(info, { objects, isClaimInUse }): Prepared {
    let isTaken = false;
    for (const { claimName, isEphemeral } of info.volumes) {
      if (isEphemeral) continue;
      const key = `${info.namespace}/${claimName}`;
      const claim = objects.claim(key);
      if (!claim) return { kind: "reject", reason: `persistentvolumeclaim "${claimName}" not found` };
      isTaken ||= Boolean(claim.spec?.accessModes?.includes("ReadWriteOncePod")) && isClaimInUse(key);
    }
    const disks = exclusiveDisks(info);
    if (!isTaken && disks.length === 0) return pass;
    return {
      kind: "check",
      check(node) {
        if (disks.some((disk) => isDiskTaken(disk, node))) return diskTaken;
        return isTaken ? claimTaken : undefined;
      },
    };
  },
};

export function exclusiveDisks({ pod }: PodInfo): readonly Volume[] {
  const volumes = pod.spec?.volumes ?? [];
  return volumes.filter(
    ({ gcePersistentDisk, awsElasticBlockStore, rbd, iscsi }) =>
      gcePersistentDisk || awsElasticBlockStore || rbd || iscsi,
  );
}

function isDiskTaken(disk: Volume, { pods }: NodeInfo): boolean {
  for (const { pod } of pods) if (pod.spec?.volumes?.some((other) => shareDisk(disk, other))) return true;
  return false;
}

/** Reports whether two volumes conflict on one disk. Read-only users do not conflict. */
export function shareDisk(a: Volume, b: Volume): boolean {
  const bothReadOnly = (x: { readOnly?: boolean }, y: { readOnly?: boolean }) =>
    Boolean(x.readOnly && y.readOnly);
  if (a.gcePersistentDisk && b.gcePersistentDisk) {
    const [x, y] = [a.gcePersistentDisk, b.gcePersistentDisk];
    if (x.pdName === y.pdName && !bothReadOnly(x, y)) return true;
  }
  if (a.awsElasticBlockStore && b.awsElasticBlockStore) {
    if (a.awsElasticBlockStore.volumeID === b.awsElasticBlockStore.volumeID) return true;
  }
  if (a.iscsi && b.iscsi) {
    if (a.iscsi.iqn === b.iscsi.iqn && !bothReadOnly(a.iscsi, b.iscsi)) return true;
  }
  if (a.rbd && b.rbd) {
    const [x, y] = [a.rbd, b.rbd];
    const shareMonitor = x.monitors.some((monitor) => y.monitors.includes(monitor));
    if (shareMonitor && x.pool === y.pool && x.image === y.image && !bothReadOnly(x, y)) return true;
  }
  return false;
}

export const volumeBinding: Filter = {
  name: "VolumeBinding",
  prepare(info, { objects }): Prepared {
    if (info.volumes.length === 0) return pass;
    const claims = sortClaims(info, objects);
    if (claims.kind === "reject") return claims;
    return {
      kind: "check",
      check(node) {
        const plan = planForNode(claims, node, objects);
        return plan.kind === "reject" ? unresolvable(...plan.reasons) : undefined;
      },
    };
  },
};

const otherZone = unresolvable("node(s) had no available volume zone");

const zoneLabels = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];
const oldLabels = new Map([
  ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"],
  ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"],
]);
const allLabels = [...zoneLabels, ...oldLabels.keys()];

/** Rejects nodes outside the zone or region labels of the pod's volumes. */
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

/** A volume in several zones has a label value such as `a__b`. */
function zonesOf({ metadata }: PersistentVolume): readonly Zone[] {
  return allLabels.flatMap((key) => {
    const value = labelOf(metadata.labels, key);
    return value ? [{ key, values: value.split("__") }] : [];
  });
}

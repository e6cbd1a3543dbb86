import type { Volume } from "../../api/objects.ts";
import type { NodeInfo } from "../node-info.ts";
import type { PodInfo } from "../pod-info.ts";
import { dueToPods, type Filter, type Prepared, pass } from "./filter.ts";

const diskTaken = dueToPods("node(s) had no available disk");
const claimTaken = dueToPods(
  "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
);

/** Volumes that one pod, or one node, can use at a time. */
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

/** Read-only users do not stand in each other's way. */
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

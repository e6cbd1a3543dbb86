import type { KubeObject, PersistentVolume, PersistentVolumeClaim } from "../../../meta/objects.ts";
import { ageColumn, type Column, column, nameColumn, wideColumn } from "../../columns.ts";

/** Fields that volumes and claims have in common. */
type Volume = KubeObject & {
  spec?: { storageClassName?: string; volumeAttributesClassName?: string; volumeMode?: string };
  status?: { phase?: string };
};

const storageClassColumn = column(
  "StorageClass",
  "Storage class",
  ({ metadata, spec }: Volume) =>
    metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? spec?.storageClassName ?? "",
);
const attributesClassColumn = column(
  "VolumeAttributesClass",
  "Class of the volume's changeable attributes",
  ({ spec }: Volume) => spec?.volumeAttributesClassName ?? "<unset>",
);
const volumeModeColumn = wideColumn(
  "VolumeMode",
  "Filesystem or block device",
  ({ spec }: Volume) => spec?.volumeMode ?? "<unset>",
);

export const persistentVolumeColumns: readonly Column<PersistentVolume>[] = [
  nameColumn,
  column("Capacity", "Size of the volume", ({ spec }) => spec?.capacity?.storage ?? "0"),
  column("Access Modes", "How the volume may be mounted", ({ spec }) => formatAccessModes(spec?.accessModes)),
  column(
    "Reclaim Policy",
    "What becomes of the volume when its claim goes",
    ({ spec }) => spec?.persistentVolumeReclaimPolicy ?? "",
  ),
  column("Status", "Whether the volume is free, bound or released", phaseOf),
  column("Claim", "Claim that the volume is bound to", ({ spec }) =>
    spec?.claimRef ? `${spec.claimRef.namespace ?? ""}/${spec.claimRef.name ?? ""}` : "",
  ),
  storageClassColumn,
  attributesClassColumn,
  column("Reason", "Why the volume is in its state", ({ status }) => status?.reason ?? ""),
  ageColumn,
  volumeModeColumn,
];

// Size and access modes are those of the bound volume, not the requested ones.
export const persistentVolumeClaimColumns: readonly Column<PersistentVolumeClaim>[] = [
  nameColumn,
  column("Status", "Whether the claim has its volume", phaseOf),
  column("Volume", "Volume that the claim is bound to", ({ spec }) => spec?.volumeName ?? ""),
  column("Capacity", "Size of the volume", ({ spec, status }) =>
    spec?.volumeName ? (status?.capacity?.storage ?? "0") : "",
  ),
  column("Access Modes", "How the volume may be mounted", ({ spec, status }) =>
    spec?.volumeName ? formatAccessModes(status?.accessModes) : "",
  ),
  storageClassColumn,
  attributesClassColumn,
  ageColumn,
  volumeModeColumn,
];

function phaseOf({ metadata, status }: Volume): string {
  return metadata.deletionTimestamp ? "Terminating" : (status?.phase ?? "");
}

const shortModes = new Map([
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
]);

/** Formats access modes in a fixed order without duplicates. */
function formatAccessModes(modes: readonly string[] = []): string {
  const shown = [...shortModes].filter(([mode]) => modes.includes(mode));
  return shown.map(([, short]) => short).join(",");
}

import type { KubeObject, PersistentVolume, PersistentVolumeClaim, StorageClass } from "../../api/objects.ts";
import { ageColumn, column, nameColumn, type TableLayout, wideColumn } from "./table-layout.ts";

/** What volumes and claims have in common. */
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

export const persistentVolumeTable: TableLayout<PersistentVolume> = {
  columns: [
    nameColumn,
    column("Capacity", "Size of the volume", ({ spec }) => spec?.capacity?.storage ?? "0"),
    column("Access Modes", "How the volume may be mounted", ({ spec }) =>
      formatAccessModes(spec?.accessModes),
    ),
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
  ],
};

// What a claim asks for says little: size and modes are those of the volume, once there is one.
export const persistentVolumeClaimTable: TableLayout<PersistentVolumeClaim> = {
  columns: [
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
  ],
};

export const storageClassTable: TableLayout<StorageClass> = {
  columns: [
    {
      ...nameColumn,
      cell: ({ metadata }) => `${metadata.name ?? ""}${isDefault(metadata) ? " (default)" : ""}`,
    },
    column("Provisioner", "Who makes volumes of this class", ({ provisioner }) => provisioner ?? ""),
    column(
      "ReclaimPolicy",
      "What becomes of its volumes when their claims go",
      ({ reclaimPolicy }) => reclaimPolicy ?? "Delete",
    ),
    column(
      "VolumeBindingMode",
      "When claims get their volumes",
      ({ volumeBindingMode }) => volumeBindingMode ?? "Immediate",
    ),
    column(
      "AllowVolumeExpansion",
      "Whether claims may grow",
      ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false,
    ),
    ageColumn,
  ],
};

function phaseOf({ metadata, status }: Volume): string {
  return metadata.deletionTimestamp ? "Terminating" : (status?.phase ?? "");
}

const shortModes = new Map([
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
]);

/** Always in the same order, each once. */
function formatAccessModes(modes: readonly string[] = []): string {
  const shown = [...shortModes].filter(([mode]) => modes.includes(mode));
  return shown.map(([, short]) => short).join(",");
}

function isDefault({ annotations }: KubeObject["metadata"]): boolean {
  return ["storageclass.kubernetes.io", "storageclass.beta.kubernetes.io"].some(
    (prefix) => annotations?.[`${prefix}/is-default-class`] === "true",
  );
}

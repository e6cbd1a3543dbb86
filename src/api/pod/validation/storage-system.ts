import type * as k8s from "@kubernetes/client-node";
import type { FieldErrors } from "../../meta/field-errors.ts";
import { dnsLabelProblems, dnsSubdomainProblems, rangeProblems } from "../../meta/names.ts";
import type { Wire } from "../../meta/objects.ts";
import { validateNoBacksteps } from "../../meta/validate-path.ts";

/** Validation function by volume source. */
export type SourceRules<S> = {
  readonly [K in keyof S]?: (source: NonNullable<S[K]>, at: FieldErrors) => void;
};

/** Validates that a volume has exactly one source, and the source itself. */
export function validateOneSource<S extends object>(holder: S, at: FieldErrors, rules: SourceRules<S>): void {
  const names: (keyof S & string)[] = [];
  for (const name in holder) if (Object.hasOwn(rules, name)) names.push(name);
  // Upstream checks sources in a fixed order, regardless of the order in the object.
  if (names.length > 1) {
    const order = Object.keys(rules);
    names.sort((a, b) => order.indexOf(a) - order.indexOf(b));
  }
  const [first, ...extra] = names;
  if (first === undefined) at.required("", "must specify a volume type");
  else validateSource(holder, first, at, rules);
  for (const name of extra) at.forbidden(name, "may not specify more than 1 volume type");
}

function validateSource<S, K extends keyof S & string>(
  holder: S,
  name: K,
  at: FieldErrors,
  rules: SourceRules<S>,
): void {
  const source = holder[name];
  // Only this source has a different name in paths.
  const field = name === "gcePersistentDisk" ? "persistentDisk" : name;
  if (source !== undefined && source !== null) rules[name]?.(source, at.child(field));
}

/** Volume sources that pods and persistent volumes have in common. */
type Systems = Pick<
  Wire<k8s.V1Volume> & Wire<k8s.V1PersistentVolumeSpec>,
  | "awsElasticBlockStore"
  | "azureDisk"
  | "azureFile"
  | "cephfs"
  | "cinder"
  | "fc"
  | "flexVolume"
  | "flocker"
  | "gcePersistentDisk"
  | "glusterfs"
  | "hostPath"
  | "iscsi"
  | "nfs"
  | "photonPersistentDisk"
  | "portworxVolume"
  | "quobyte"
  | "rbd"
  | "scaleIO"
  | "storageos"
  | "vsphereVolume"
>;

export const storageSystems: SourceRules<Systems> = {
  hostPath(source, at) {
    if (!source.path) return at.required("path");
    validateNoBacksteps(source.path, at.child("path"));
    at.oneOf("type", source.type, hostPathTypes);
  },
  gcePersistentDisk(source, at) {
    at.requireFields(source, ["pdName"]);
    validatePartition(source.partition, at);
  },
  awsElasticBlockStore(source, at) {
    at.requireFields(source, ["volumeID"]);
    validatePartition(source.partition, at);
  },
  nfs(source, at) {
    at.requireFields(source, ["server", "path"]);
    if (!source.path?.startsWith("/")) at.invalid("path", source.path ?? "", "must be an absolute path");
  },
  iscsi: validateIscsi,
  glusterfs: (source, at) => at.requireFields(source, ["endpoints", "path"]),
  flocker({ datasetName, datasetUUID }, at) {
    if (!datasetName && !datasetUUID) at.required("", "one of datasetName and datasetUUID is required");
    if (datasetName && datasetUUID) {
      at.invalid("", "resource", "datasetName and datasetUUID can not be specified simultaneously");
    }
    if (datasetName?.includes("/")) at.invalid("datasetName", datasetName, "must not contain '/'");
  },
  rbd: (source, at) => at.requireFields(source, ["monitors", "image"]),
  cinder(source, at) {
    at.requireFields(source, ["volumeID"]);
    validateSecretRef(source.secretRef, at);
  },
  cephfs: (source, at) => at.requireFields(source, ["monitors"]),
  quobyte(source, at) {
    const pairs = "must be a host:port pair or multiple pairs separated by commas";
    if (!source.registry) at.required("registry", pairs);
    else if (!source.registry.split(",").every((pair) => /^[^:]*:[^:]*$/.test(pair))) {
      at.invalid("registry", source.registry, pairs);
    }
    at.requireFields(source, ["volume"]);
  },
  fc({ targetWWNs, wwids, lun }, at) {
    if (!targetWWNs?.length && !wwids?.length) {
      at.required("targetWWNs", "must specify either targetWWNs or wwids, but not both");
    }
    if (!targetWWNs?.length) return;
    if (wwids?.length) {
      at.invalid("targetWWNs", targetWWNs, "targetWWNs and wwids can not be specified simultaneously");
    }
    if (lun === undefined) at.required("lun", "lun is required if targetWWNs is specified");
    else at.problems("lun", lun, rangeProblems(lun, 0, 255));
  },
  flexVolume(source, at) {
    at.requireFields(source, ["driver"]);
    for (const key of Object.keys(source.options ?? {})) {
      if (/(?:^|\.)(?:kubernetes|k8s)\.io$/i.test(key.split("/", 1)[0] ?? "")) {
        at.invalid(`options[${key}]`, key, "kubernetes.io and k8s.io namespaces are reserved");
      }
    }
  },
  azureFile: (source, at) => at.requireFields(source, ["secretName", "shareName"]),
  vsphereVolume: (source, at) => at.requireFields(source, ["volumePath"]),
  photonPersistentDisk: (source, at) => at.requireFields(source, ["pdID"]),
  portworxVolume: (source, at) => at.requireFields(source, ["volumeID"]),
  azureDisk(source, at) {
    at.requireFields(source, ["diskName", "diskURI"]);
    at.oneOf("cachingMode", source.cachingMode, ["None", "ReadOnly", "ReadWrite"]);
    at.oneOf("kind", source.kind, ["Dedicated", "Managed", "Shared"]);
    const [start, form] = source.kind === "Managed" ? managedDisk : blobDisk;
    if (!source.diskURI?.startsWith(start)) at.notSupported("diskURI", source.diskURI ?? "", [form]);
  },
  storageos(source, at) {
    if (!source.volumeName) at.required("volumeName");
    else at.problems("volumeName", source.volumeName, dnsLabelProblems(source.volumeName));
    const namespace = source.volumeNamespace;
    if (namespace) at.problems("volumeNamespace", namespace, dnsLabelProblems(namespace));
    validateSecretRef(source.secretRef, at);
  },
  scaleIO: (source, at) => at.requireFields(source, ["gateway", "system", "volumeName"]),
};

const hostPathTypes = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];
const managedDisk = [
  "/subscriptions/",
  "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
] as const;
const blobDisk = [
  "https://",
  "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
] as const;

function validatePartition(partition: number | undefined, at: FieldErrors): void {
  if (partition !== undefined && (partition < 0 || partition > 255)) {
    at.invalid("partition", partition, "must be between 1 and 255, inclusive");
  }
}

function validateSecretRef(ref: { name?: string } | undefined, at: FieldErrors): void {
  if (ref && !ref.name) at.required("secretRef.name");
}

function validateIscsi(source: NonNullable<Systems["iscsi"]>, at: FieldErrors): void {
  at.requireFields(source, ["targetPortal", "iqn"]);
  if (source.iqn) validateIscsiName(source.iqn, at.child("iqn"));
  at.problems("lun", source.lun, rangeProblems(source.lun ?? 0, 0, 255));
  if ((source.chapAuthDiscovery || source.chapAuthSession) && !source.secretRef) at.required("secretRef");
  if (source.initiatorName !== undefined) validateIscsiName(source.initiatorName, at.child("initiatorname"));
}

const iscsiNames = [
  /^iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+$/,
  /^eui.[A-Za-z0-9]{16}$/,
  /^naa.[A-Za-z0-9]{32}$/,
];

function validateIscsiName(name: string, at: FieldErrors): void {
  if (!/^(?:iqn|eui|naa)/.test(name)) {
    at.invalid("", name, "must be valid format starting with iqn, eui, or naa");
  } else if (!iscsiNames.some((form) => form.test(name))) {
    at.invalid("", name, "must be valid format");
  }
}

export function validateCsiDriver(driver: string | undefined, at: FieldErrors): void {
  if (!driver) {
    at.required("driver");
    return;
  }
  if (driver.length > 63) at.tooLong("driver", 63);
  at.problems("driver", driver, dnsSubdomainProblems(driver.toLowerCase()));
}

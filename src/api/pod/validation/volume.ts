import type * as k8s from "@kubernetes/client-node";
import type { FieldErrors } from "../../meta/field-errors.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../../meta/names.ts";
import type { Container, ObjectMeta, Volume } from "../../meta/objects.ts";
import { parseQuantity } from "../../meta/quantity.ts";
import { validateDescendingPath } from "../../meta/validate-path.ts";
import { validateClaimTemplate } from "./claim-spec.ts";
import {
  validateDownwardFiles,
  validateKeyToPath,
  validateMode,
  validateProjectedVolume,
} from "./projected-volume.ts";
import { type SourceRules, storageSystems, validateCsiDriver, validateOneSource } from "./storage-system.ts";

type Sources = Omit<Volume, "name">;

export const pullPolicies = ["Always", "IfNotPresent", "Never"];

const volumeSources: SourceRules<Sources> = {
  emptyDir({ sizeLimit }, at) {
    if (sizeLimit && parseQuantity(sizeLimit).nanos < 0n) {
      at.forbidden("sizeLimit", "SizeLimit field must be a valid resource quantity");
    }
  },
  ...storageSystems,
  gitRepo(source, at) {
    at.requireFields(source, ["repository"]);
    validateDescendingPath(source.directory ?? "", at.child("directory"));
  },
  secret(source, at) {
    at.requireFields(source, ["secretName"]);
    validateMode("defaultMode", source.defaultMode, at);
    at.each("items", source.items, validateKeyToPath);
  },
  configMap(source, at) {
    at.requireFields(source, ["name"]);
    validateMode("defaultMode", source.defaultMode, at);
    at.each("items", source.items, validateKeyToPath);
  },
  downwardAPI(source, at) {
    validateMode("defaultMode", source.defaultMode, at);
    validateDownwardFiles(source.items, at);
  },
  projected: validateProjectedVolume,
  persistentVolumeClaim: (source, at) => at.requireFields(source, ["claimName"]),
  csi(source, at) {
    validateCsiDriver(source.driver, at);
    const secret = source.nodePublishSecretRef;
    if (!secret) return;
    if (!secret.name) at.required("nodePublishSecretRef.name");
    else at.problems("name", secret.name, dnsSubdomainProblems(secret.name));
  },
  ephemeral(source, at) {
    const template = source.volumeClaimTemplate;
    if (!template) at.required("volumeClaimTemplate");
    else validateClaimTemplate(template, at.child("volumeClaimTemplate"));
  },
  image(source, at) {
    if (!source.reference) at.required("reference");
    at.requiredOneOf("pullPolicy", source.pullPolicy, pullPolicies);
  },
};

/** Returns the volumes that containers may mount: those without errors. */
export function validateVolumes(
  volumes: readonly Volume[],
  at: FieldErrors,
  podMeta: ObjectMeta | undefined,
): ReadonlyMap<string, Volume> {
  const good = new Map<string, Volume>();
  const created = new Set<string>();
  const podName = podMeta?.name;
  if (podName) {
    for (const { name, ephemeral } of volumes) if (ephemeral) created.add(`${podName}-${name}`);
  }
  at.each("", volumes, (volume, place) => {
    const before = at.errors.length;
    const { name } = volume;
    validateOneSource<Sources>(volume, place, volumeSources);
    if (volume.ephemeral && podName && name) validateClaimName(`${podName}-${name}`, name, place);
    if (!name) place.required("name");
    else place.problems("name", name, dnsLabelProblems(name));
    if (good.has(name)) place.duplicate("name", name);
    if (at.errors.length === before) good.set(name, volume);
    const claimName = volume.persistentVolumeClaim?.claimName;
    if (claimName && created.has(claimName)) {
      const detail = "must not reference a PVC that gets created for an ephemeral volume";
      place.invalid("persistentVolumeClaim.claimName", claimName, detail);
    }
  });
  return good;
}

function validateClaimName(claimName: string, volumeName: string, at: FieldErrors): void {
  for (const problem of dnsSubdomainProblems(claimName)) {
    at.invalid("name", volumeName, `PVC name ${JSON.stringify(claimName)}: ${problem}`);
  }
}

export function validateMounts(
  container: Container,
  at: FieldErrors,
  volumes: ReadonlyMap<string, Volume>,
): void {
  const { volumeMounts, volumeDevices, securityContext } = container;
  if (!volumeMounts && !volumeDevices) return;
  const mounts = new Uses(
    "volumeMounts",
    volumeMounts?.map(({ name, mountPath }) => [name, mountPath]),
  );
  const devices = new Uses(
    "volumeDevices",
    volumeDevices?.map(({ name, devicePath }) => [name, devicePath]),
  );

  const list = at.child("volumeMounts");
  const paths = new Set<string>();
  list.each("", volumeMounts, (mount, place) => {
    const { name, mountPath } = mount;
    if (!name) place.required("name");
    if (!volumes.has(name)) place.notFound("name", name);
    if (!mountPath) place.required("mountPath");
    if (paths.has(mountPath)) place.invalid("mountPath", mountPath, "must be unique");
    paths.add(mountPath);
    devices.reject("name", name, place);
    devices.reject("mountPath", mountPath, place);
    validateMount(mount, { at: place, list, privileged: securityContext?.privileged ?? false });
  });
  validateDevices(volumeDevices, at.child("volumeDevices"), { volumes, mounts });
}

/** Volumes used as mounts or as devices. A volume may not be used as both. */
class Uses {
  private readonly list: string;
  private readonly names: ReadonlySet<string>;
  private readonly paths: ReadonlySet<string>;

  constructor(list: string, uses: readonly (readonly [name: string, path: string])[] = []) {
    this.list = list;
    this.names = new Set(uses.map(([name]) => name));
    this.paths = new Set(uses.map(([, path]) => path));
  }

  reject(field: "name" | "mountPath" | "devicePath", value: string, at: FieldErrors): void {
    const isName = field === "name";
    if (!(isName ? this.names : this.paths).has(value)) return;
    at.invalid(field, value, `must not already exist ${isName ? "" : "as a path "}in ${this.list}`);
  }
}

/** Validates a mount. Like upstream, some errors have the path of the list. */
function validateMount(
  mount: k8s.V1VolumeMount,
  { at, list, privileged }: { at: FieldErrors; list: FieldErrors; privileged: boolean },
): void {
  const { subPath, subPathExpr, mountPropagation, recursiveReadOnly } = mount;
  if (subPath) validateDescendingPath(subPath, list.child("subPath"));
  if (subPathExpr) {
    if (subPath) at.invalid("subPathExpr", subPathExpr, "subPathExpr and subPath are mutually exclusive");
    validateDescendingPath(subPathExpr, list.child("subPathExpr"));
  }
  list.oneOf("mountPropagation", mountPropagation, ["Bidirectional", "HostToContainer", "None"]);
  if (mountPropagation === "Bidirectional" && !privileged) {
    const detail = "Bidirectional mount propagation is available only to privileged containers";
    list.forbidden("mountPropagation", detail);
  }
  list.oneOf("recursiveReadOnly", recursiveReadOnly, ["Disabled", "Enabled", "IfPossible"]);
  if (recursiveReadOnly !== "Enabled" && recursiveReadOnly !== "IfPossible") return;
  if (!mount.readOnly) list.forbidden("recursiveReadOnly", "may only be specified when readOnly is true");
  if (mountPropagation && mountPropagation !== "None") {
    const detail = "may only be specified when mountPropagation is None or not specified";
    list.forbidden("recursiveReadOnly", detail);
  }
}

function validateDevices(
  devices: k8s.V1VolumeDevice[] | undefined,
  at: FieldErrors,
  { volumes, mounts }: { volumes: ReadonlyMap<string, Volume>; mounts: Uses },
): void {
  const names = new Set<string>();
  const paths = new Set<string>();
  at.each("", devices, ({ name, devicePath }, place) => {
    const volume = volumes.get(name);
    if (!name) place.required("name");
    if (names.has(name)) place.invalid("name", name, "must be unique");
    names.add(name);
    if (!volume) place.notFound("name", name);
    else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
      const detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
      place.invalid("name", name, detail);
    }
    if (!devicePath) place.required("devicePath");
    if (paths.has(devicePath)) place.invalid("devicePath", devicePath, "must be unique");
    paths.add(devicePath);
    if (devicePath?.split("/").includes("..")) {
      place.invalid("devicePath", devicePath, "can not contain backsteps ('..')");
    }
    mounts.reject("name", name, place);
    mounts.reject("devicePath", devicePath, place);
  });
}

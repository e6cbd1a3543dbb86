import type * as k8s from "@kubernetes/client-node";
import { dnsLabelProblems, dnsSubdomainProblems } from "../names.ts";
import type { ObjectMeta, Wire } from "../objects.ts";
import { parseQuantity } from "../quantity.ts";
import { validateClaimTemplate } from "./claim-spec.ts";
import { validateDescendingPath } from "./path.ts";
import {
  validateDownwardFiles,
  validateKeyToPath,
  validateMode,
  validateProjectedVolume,
} from "./projected-volume.ts";
import type { Report } from "./report.ts";
import { type SourceRules, storageSystems, validateCsiDriver, validateOneSource } from "./storage-system.ts";

export type Volume = Wire<k8s.V1Volume>;
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
  at: Report,
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

function validateClaimName(claimName: string, volumeName: string, at: Report): void {
  for (const problem of dnsSubdomainProblems(claimName)) {
    at.invalid("name", volumeName, `PVC name ${JSON.stringify(claimName)}: ${problem}`);
  }
}

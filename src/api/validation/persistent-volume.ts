import type * as k8s from "@kubernetes/client-node";
import type { FieldError } from "../field-error.ts";
import { isEqual } from "../is-equal.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../names.ts";
import type { Wire } from "../objects.ts";
import { parseQuantity } from "../quantity.ts";
import { validateNodeSelector } from "./affinity.ts";
import { validateAccessModes, volumeModes } from "./claim-spec.ts";
import { diffValues } from "./diff.ts";
import { validateNoBacksteps } from "./path.ts";
import { Report } from "./report.ts";
import { type SourceRules, storageSystems, validateCsiDriver, validateOneSource } from "./storage-system.ts";

type PersistentVolume = Wire<k8s.V1PersistentVolume>;
type Spec = Wire<k8s.V1PersistentVolumeSpec>;

const sources: SourceRules<Spec> = {
  ...storageSystems,
  local(source, at) {
    if (!source.path) return at.required("path");
    validateNoBacksteps(source.path, at.child("path"));
  },
  csi(source, at) {
    validateCsiDriver(source.driver, at);
    at.requireFields(source, ["volumeHandle"]);
    for (const field of csiSecrets) {
      const secret = source[field];
      if (secret) validateSecretRef(secret, at.child(field));
    }
  },
};

const csiSecrets = [
  "controllerPublishSecretRef",
  "controllerExpandSecretRef",
  "nodePublishSecretRef",
  "nodeExpandSecretRef",
] as const;

function validateSecretRef({ name, namespace }: k8s.V1SecretReference, at: Report): void {
  if (!name) at.required("name");
  else at.problems("name", name, dnsSubdomainProblems(name));
  if (!namespace) at.required("namespace");
  else at.problems("namespace", namespace, dnsLabelProblems(namespace));
}

export function validatePersistentVolume({ spec = {} }: PersistentVolume): FieldError[] {
  const at = new Report("spec");
  if (!spec.accessModes?.length) at.required("accessModes");
  validateAccessModes(spec.accessModes ?? [], at);
  validateCapacity(spec.capacity, at);
  const policy = spec.persistentVolumeReclaimPolicy;
  at.oneOf("persistentVolumeReclaimPolicy", policy, ["Delete", "Recycle", "Retain"]);
  if (spec.nodeAffinity) {
    const { required } = spec.nodeAffinity;
    if (required) validateNodeSelector(required, at.child("nodeAffinity.required"));
    else at.required("nodeAffinity.required", "must specify required node constraints");
  }
  validateOneSource(spec, at, sources);
  if (spec.local && !spec.nodeAffinity) at.required("nodeAffinity", "Local volume requires node affinity");
  if (policy === "Recycle" && spec.hostPath && isRoot(spec.hostPath.path)) {
    at.forbidden("persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'");
  }
  const { storageClassName, volumeAttributesClassName: attributes } = spec;
  if (storageClassName)
    at.problems("storageClassName", storageClassName, dnsSubdomainProblems(storageClassName));
  at.oneOf("volumeMode", spec.volumeMode, volumeModes);
  if (attributes !== undefined) {
    if (attributes === "") at.required("volumeAttributesClassName", "an empty string is disallowed");
    else at.problems("volumeAttributesClassName", attributes, dnsSubdomainProblems(attributes));
    if (!spec.csi) at.required("csi", "has to be specified when using volumeAttributesClassName");
  }
  return at.errors;
}

function isRoot(path: string): boolean {
  return path.split("/").every((part) => part === "" || part === ".");
}

function validateCapacity(capacity: Record<string, string> | undefined, at: Report): void {
  const names = Object.keys(capacity ?? {}).sort();
  if (names.length === 0) at.required("capacity");
  if (names.length !== 1 || names[0] !== "storage") {
    const shown = capacity && Object.fromEntries(names.map((name) => [name, capacity[name]]));
    at.notSupported("capacity", shown, ["storage"]);
  }
  for (const name of names) {
    const amount = capacity?.[name] ?? "0";
    if (parseQuantity(amount).nanos <= 0n)
      at.invalid(`capacity[${name}]`, amount, "must be greater than zero");
  }
}

export function validatePersistentVolumeUpdate(
  next: PersistentVolume,
  current: PersistentVolume,
): FieldError[] {
  const at = new Report("", validatePersistentVolume(next));
  const { spec = {} } = next;
  const { spec: before = {} } = current;
  const after = sourceOf(withoutNewExpandSecret(spec, before));
  if (!isEqual(after, sourceOf(before))) {
    const difference = diffValues(sourceOf(before), after);
    const detail = `spec.persistentvolumesource is immutable after creation\n${difference}`;
    at.forbidden("spec.persistentvolumesource", detail);
  }
  if (spec.volumeMode !== before.volumeMode) at.invalid("volumeMode", spec.volumeMode, "field is immutable");
  if (before.nodeAffinity && !isEqual(spec.nodeAffinity, before.nodeAffinity)) {
    const detail = "field is immutable, except for updating from beta label to GA";
    at.invalid("nodeAffinity", spec.nodeAffinity, detail);
  }
  if (before.volumeAttributesClassName !== undefined && spec.volumeAttributesClassName === undefined) {
    at.forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden");
  }
  return at.errors;
}

/** What a volume is, without how it is used. */
function sourceOf(spec: Spec): object {
  return Object.fromEntries(Object.entries(spec).filter(([field]) => Object.hasOwn(sources, field)));
}

/** The secret for growing a volume may be added later. */
function withoutNewExpandSecret(spec: Spec, before: Spec): Spec {
  if (!spec.csi || !before.csi || before.csi.controllerExpandSecretRef) return spec;
  const { controllerExpandSecretRef: _, ...csi } = spec.csi;
  return { ...spec, csi };
}

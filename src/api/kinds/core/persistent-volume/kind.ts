import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { diffValues, isEqual } from "../../../meta/is-equal.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../../../meta/names.ts";
import type { KubeObject, PersistentVolume, Wire } from "../../../meta/objects.ts";
import { parseQuantity } from "../../../meta/quantity.ts";
import { formatTime } from "../../../meta/time.ts";
import { validateNoBacksteps } from "../../../meta/validate-path.ts";
import { defaultResourceList } from "../../../pod/defaults/container.ts";
import { defaultStorageSystem } from "../../../pod/defaults/volume.ts";
import { validateAccessModes, volumeModes } from "../../../pod/validation/claim-spec.ts";
import { validateNodeSelector } from "../../../pod/validation/scheduling.ts";
import {
  type SourceRules,
  storageSystems,
  validateCsiDriver,
  validateOneSource,
} from "../../../pod/validation/storage-system.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, type Strategy } from "../../strategy.ts";
import { persistentVolumeColumns } from "./columns.ts";

function defaultPersistentVolume(volume: Wire<k8s.V1PersistentVolume>): void {
  volume.spec ??= {};
  volume.spec.persistentVolumeReclaimPolicy ||= "Retain";
  volume.spec.volumeMode ??= "Filesystem";
  defaultResourceList(volume.spec.capacity);
  defaultStorageSystem(volume.spec);
  if (volume.spec.hostPath) volume.spec.hostPath.type ??= "";
  volume.status ??= {};
  volume.status.phase ||= "Pending";
}

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

function validateSecretRef({ name, namespace }: k8s.V1SecretReference, at: FieldErrors): void {
  if (!name) at.required("name");
  else at.problems("name", name, dnsSubdomainProblems(name));
  if (!namespace) at.required("namespace");
  else at.problems("namespace", namespace, dnsLabelProblems(namespace));
}

function validatePersistentVolume({ spec = {} }: PersistentVolume): FieldError[] {
  const at = new FieldErrors("spec");
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

function validateCapacity(capacity: Record<string, string> | undefined, at: FieldErrors): void {
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

function validatePersistentVolumeUpdate(next: PersistentVolume, current: PersistentVolume): FieldError[] {
  const at = new FieldErrors("", validatePersistentVolume(next));
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

/** Source of a volume, without the fields that describe its use. */
function sourceOf(spec: Spec): object {
  return Object.fromEntries(Object.entries(spec).filter(([field]) => Object.hasOwn(sources, field)));
}

/** Removes an added secret for volume expansion, which is an allowed change. */
function withoutNewExpandSecret(spec: Spec, before: Spec): Spec {
  if (!spec.csi || !before.csi || before.csi.controllerExpandSecretRef) return spec;
  const { controllerExpandSecretRef: _, ...csi } = spec.csi;
  return { ...spec, csi };
}

const strategy: Strategy<KubeObject & Wire<k8s.V1PersistentVolume>> = {
  returnsDeletedObject: true,
  applyDefaults: defaultPersistentVolume,

  prepareForCreate(next, { now }) {
    next.status = { phase: "Pending", lastPhaseTransitionTime: formatTime(now) };
  },

  prepareForUpdate(next, current) {
    keepField(next, current, "status");
  },

  prepareForStatusUpdate(next, current, { now }) {
    keepField(next, current, "spec");
    next.status ??= {};
    const after = next.status;
    const before = current.status ?? {};
    const unset =
      !after.lastPhaseTransitionTime || after.lastPhaseTransitionTime === before.lastPhaseTransitionTime;
    if (after.phase !== before.phase && unset) after.lastPhaseTransitionTime = formatTime(now);
    else if (unset) keepField(after, before, "lastPhaseTransitionTime");
  },

  validate: validatePersistentVolume,
  validateUpdate: validatePersistentVolumeUpdate,

  warnings({ spec }) {
    if (spec?.persistentVolumeReclaimPolicy !== "Recycle") return [];
    const advice = "Instead, the recommended approach is to use dynamic provisioning.";
    return [`spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. ${advice}`];
  },
};

export const persistentVolumeKind = defineKind<KubeObject & Wire<k8s.V1PersistentVolume>>({
  resource: {
    group: "",
    version: "v1",
    plural: "persistentvolumes",
    kind: "PersistentVolume",
    namespaced: false,
    shortNames: ["pv"],
  },
  subresources: ["status"],
  strategy,
  columns: persistentVolumeColumns,
});

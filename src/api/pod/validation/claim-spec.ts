import type * as k8s from "@kubernetes/client-node";
import type { FieldErrors } from "../../meta/field-errors.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../../meta/names.ts";
import type { ObjectMeta, Wire } from "../../meta/objects.ts";
import { parseQuantity } from "../../meta/quantity.ts";
import { validateAnnotations, validateLabelSelector, validateLabels } from "../../meta/validate-metadata.ts";

export type ClaimSpec = Wire<k8s.V1PersistentVolumeClaimSpec>;

export const volumeModes = ["Block", "Filesystem"];
const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

export function validateAccessModes(modes: readonly string[], at: FieldErrors): void {
  for (const mode of modes) at.oneOf("accessModes", mode, accessModes);
  const others = modes.some((mode) => mode !== "ReadWriteOncePod" && accessModes.includes(mode));
  if (modes.includes("ReadWriteOncePod") && others) {
    at.forbidden("accessModes", "may not use ReadWriteOncePod with other access modes");
  }
}

export function validateClaimSpec(spec: ClaimSpec, at: FieldErrors): void {
  if (!spec.accessModes?.length) at.required("accessModes", "at least 1 access mode is required");
  validateLabelSelector(spec.selector, at.child("selector"));
  validateAccessModes(spec.accessModes ?? [], at);

  const storage = spec.resources?.requests?.storage;
  if (storage === undefined) at.required("resources[storage]");
  else if (parseQuantity(storage).nanos <= 0n) {
    at.invalid("resources[storage]", storage, "must be greater than zero");
  }
  if (spec.storageClassName) {
    at.problems("storageClassName", spec.storageClassName, dnsSubdomainProblems(spec.storageClassName));
  }
  at.oneOf("volumeMode", spec.volumeMode, volumeModes);
  validateDataSources(spec, at);
  const attributes = spec.volumeAttributesClassName;
  if (attributes) at.problems("volumeAttributesClassName", attributes, dnsSubdomainProblems(attributes));
}

function validateDataSources({ dataSource, dataSourceRef }: ClaimSpec, at: FieldErrors): void {
  if (dataSource) validateDataSource(dataSource, at.child("dataSource"));
  if (dataSourceRef) {
    validateDataSource(dataSourceRef, at.child("dataSourceRef"));
    const { namespace } = dataSourceRef;
    if (namespace) at.problems("dataSourceRef.namespace", namespace, dnsLabelProblems(namespace));
  }
  if (!dataSource || !dataSourceRef) return;
  // Upstream's message contains the path instead of the value.
  const shown = `${at.path}.dataSource`;
  if (dataSourceRef.namespace) {
    at.invalid("", shown, "may not be specified when dataSourceRef.namespace is specified");
  } else if (
    dataSource.apiGroup !== dataSourceRef.apiGroup ||
    dataSource.kind !== dataSourceRef.kind ||
    dataSource.name !== dataSourceRef.name
  ) {
    at.invalid("", shown, "must match dataSourceRef");
  }
}

function validateDataSource(source: k8s.V1TypedLocalObjectReference, at: FieldErrors): void {
  at.requireFields(source, ["name", "kind"]);
  if (!source.apiGroup && source.kind !== "PersistentVolumeClaim") {
    const detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
    at.invalid("", source.kind, detail);
  }
  if (source.apiGroup) at.problems("apiGroup", source.apiGroup, dnsSubdomainProblems(source.apiGroup));
}

/** Validates a claim template of a pod or StatefulSet. Of the metadata, only labels and annotations are used. */
export function validateClaimTemplate(
  template: { metadata?: ObjectMeta; spec: ClaimSpec },
  at: FieldErrors,
): void {
  const { annotations, labels, ...others } = template.metadata ?? {};
  validateAnnotations(annotations, at.child("metadata.annotations"));
  validateLabels(labels, at.child("metadata.labels"));
  for (const field of Object.keys(others)) at.forbidden(`metadata.${field}`, "cannot be set");
  validateClaimSpec(template.spec, at.child("spec"));
}

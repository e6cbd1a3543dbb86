import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { isEqual } from "../../../meta/is-equal.ts";
import { qualifiedNameProblems } from "../../../meta/names.ts";
import type { KubeObject, StorageClass } from "../../../meta/objects.ts";
import { ageColumn, column, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import type { Strategy } from "../../strategy.ts";

const maxParameters = 512;
const maxParameterBytes = 256 * 1024;

const strategy: Strategy<StorageClass> = {
  applyDefaults(storageClass) {
    storageClass.reclaimPolicy ??= "Delete";
    storageClass.volumeBindingMode ??= "Immediate";
  },

  validate,

  validateUpdate(next, current) {
    const at = new FieldErrors("", validate(next));
    for (const field of ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] as const) {
      if (!isEqual(next[field], current[field])) at.invalid(field, next[field], "field is immutable");
    }
    return at.errors;
  },
};

export const storageClassKind = defineKind<StorageClass>({
  resource: {
    group: "storage.k8s.io",
    version: "v1",
    plural: "storageclasses",
    kind: "StorageClass",
    namespaced: false,
    shortNames: ["sc"],
  },
  strategy,
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
});

function validate(storageClass: StorageClass): FieldError[] {
  const at = new FieldErrors("");
  const { provisioner, parameters = {} } = storageClass;
  if (!provisioner) at.required("provisioner");
  else {
    const name = provisioner.toLowerCase();
    at.problems("provisioner", name, qualifiedNameProblems(name));
  }
  validateParameters(parameters, at);
  at.oneOf("reclaimPolicy", storageClass.reclaimPolicy || undefined, ["Delete", "Retain"]);
  const modes = ["Immediate", "WaitForFirstConsumer"];
  at.requiredOneOf("volumeBindingMode", storageClass.volumeBindingMode, modes);
  at.each("allowedTopologies", storageClass.allowedTopologies, validateTopology);
  return at.errors;
}

function validateParameters(parameters: Record<string, string>, at: FieldErrors): void {
  const entries = Object.entries(parameters);
  if (entries.length > maxParameters) {
    at.tooLong("parameters", maxParameters);
    return;
  }
  let bytes = 0;
  for (const [key, value] of entries) {
    if (key === "") at.invalid("parameters", key, "field can not be empty.");
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > maxParameterBytes) at.tooLong("parameters", maxParameterBytes);
}

function validateTopology({ matchLabelExpressions }: k8s.V1TopologySelectorTerm, at: FieldErrors): void {
  const keys = new Set<string>();
  at.each("matchLabelExpressions", matchLabelExpressions, ({ key, values }, place) => {
    if (!values?.length) place.required("values");
    const seen = new Set<string>();
    place.each("values", values, (value, valuePlace) => {
      if (seen.has(value)) valuePlace.duplicate("", value);
      seen.add(value);
    });
    place.problems("key", key, qualifiedNameProblems(key));
    if (keys.has(key)) place.duplicate("key", key);
    keys.add(key);
  });
}

function isDefault({ annotations }: KubeObject["metadata"]): boolean {
  return ["storageclass.kubernetes.io", "storageclass.beta.kubernetes.io"].some(
    (prefix) => annotations?.[`${prefix}/is-default-class`] === "true",
  );
}

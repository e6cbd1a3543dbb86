import type * as k8s from "@kubernetes/client-node";
import type { FieldError } from "../../api/field-error.ts";
import { isEqual } from "../../api/is-equal.ts";
import { qualifiedNameProblems } from "../../api/names.ts";
import type { KubeObject, Wire } from "../../api/objects.ts";
import { Report } from "../../api/validation/report.ts";
import type { Strategy } from "./strategy.ts";

type StorageClass = KubeObject & Wire<k8s.V1StorageClass>;

const maxParameters = 512;
const maxParameterBytes = 256 * 1024;

export const storageClassStrategy: Strategy<StorageClass> = {
  applyDefaults(storageClass) {
    storageClass.reclaimPolicy ??= "Delete";
    storageClass.volumeBindingMode ??= "Immediate";
  },

  validate,

  validateUpdate(next, current) {
    const at = new Report("", validate(next));
    for (const field of ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] as const) {
      if (!isEqual(next[field], current[field])) at.invalid(field, next[field], "field is immutable");
    }
    return at.errors;
  },
};

function validate(storageClass: StorageClass): FieldError[] {
  const at = new Report("");
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

function validateParameters(parameters: Record<string, string>, at: Report): void {
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

function validateTopology({ matchLabelExpressions }: k8s.V1TopologySelectorTerm, at: Report): void {
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

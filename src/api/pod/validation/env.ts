import type * as k8s from "@kubernetes/client-node";
import type { FieldErrors } from "../../meta/field-errors.ts";
import {
  configKeyProblems,
  dnsLabelProblems,
  dnsSubdomainProblems,
  envVarNameProblems,
  generateNameProblems,
  qualifiedNameProblems,
} from "../../meta/names.ts";
import { validateNoBacksteps } from "../../meta/validate-path.ts";

export function validateEnvVar(variable: k8s.V1EnvVar, at: FieldErrors): void {
  if (!variable.name) at.required("name");
  else at.problems("name", variable.name, envVarNameProblems(variable.name));
  if (variable.valueFrom) validateValueFrom(variable.valueFrom, at.child("valueFrom"), variable.value);
}

function validateValueFrom(source: k8s.V1EnvVarSource, at: FieldErrors, value: string | undefined): void {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (fieldRef) validateFieldRef(fieldRef, at.child("fieldRef"), envFields);
  if (resourceFieldRef) validateResourceFieldRef(resourceFieldRef, at.child("resourceFieldRef"));
  if (configMapKeyRef) validateKeyRef(configMapKeyRef, at.child("configMapKeyRef"));
  if (secretKeyRef) validateKeyRef(secretKeyRef, at.child("secretKeyRef"));
  if (fileKeyRef) validateFileKeyRef(fileKeyRef, at.child("fileKeyRef"));

  const sources = Object.keys(source).length;
  if (sources === 0) {
    const names = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    at.invalid("", "", `must specify one of: ${names}`);
  } else if (value) {
    at.invalid("", "", "may not be specified when `value` is not empty");
  } else if (sources > 1) {
    at.invalid("", "", "may not have more than one field specified at a time");
  }
}

function validateKeyRef(ref: { name?: string; key: string }, at: FieldErrors): void {
  at.problems("name", ref.name ?? "", dnsSubdomainProblems(ref.name ?? ""));
  if (!ref.key) at.required("key");
  else at.problems("key", ref.key, configKeyProblems(ref.key));
}

function validateFileKeyRef(ref: k8s.V1FileKeySelector, at: FieldErrors): void {
  at.requireFields(ref, ["key", "volumeName", "path"]);
  if (ref.key) at.problems("key", ref.key, envVarNameProblems(ref.key));
  if (ref.volumeName) at.problems("volumeName", ref.volumeName, dnsLabelProblems(ref.volumeName));
  if (ref.path) validateNoBacksteps(ref.path, at.child("path"));
}

export function validateEnvFrom(sources: k8s.V1EnvFromSource[] | undefined, at: FieldErrors): void {
  at.each("", sources, ({ prefix, configMapRef, secretRef }, source) => {
    if (prefix) source.problems("prefix", prefix, envVarNameProblems(prefix));
    if (configMapRef) validateObjectName(configMapRef, source.child("configMapRef"));
    if (secretRef) validateObjectName(secretRef, source.child("secretRef"));
    if (!configMapRef && !secretRef) at.invalid("", "", "must specify one of: `configMapRef` or `secretRef`");
    else if (configMapRef && secretRef) {
      at.invalid("", "", "may not have more than one field specified at a time");
    }
  });
}

function validateObjectName({ name }: { name?: string }, at: FieldErrors): void {
  if (!name) at.required("name");
  else at.problems("name", name, generateNameProblems("dnsSubdomain", name));
}

/** Pod fields that environment variables can refer to. */
const envFields = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];
/** Pod fields that downward API volumes can refer to. */
export const volumeFields = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
];
const knownFields = new Set([
  ...envFields,
  ...volumeFields,
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
]);

export function validateFieldRef(
  { apiVersion, fieldPath }: k8s.V1ObjectFieldSelector,
  at: FieldErrors,
  allowed: readonly string[],
): void {
  if (!fieldPath) {
    at.required("fieldPath");
    return;
  }
  const reject = (reason: string) =>
    at.invalid("fieldPath", fieldPath, `error converting fieldPath: ${reason}`);
  if (apiVersion !== "v1") {
    reject(`unsupported pod version: ${apiVersion}`);
    return;
  }

  const subscripted = /^([^[]*)\['(.*)'\]$/s.exec(fieldPath);
  if (subscripted) {
    const [, path, subscript = ""] = subscripted;
    if (path === "metadata.labels") at.problems("", subscript, qualifiedNameProblems(subscript));
    else if (path === "metadata.annotations") {
      const key = subscript.toLowerCase();
      at.problems("", key, qualifiedNameProblems(key));
    } else reject(`field label does not support subscript: ${fieldPath}`);
    return;
  }
  const path = fieldPath === "spec.host" ? "spec.nodeName" : fieldPath;
  if (!knownFields.has(path)) reject(`field label not supported: ${fieldPath}`);
  else at.oneOf("fieldPath", path, allowed);
}

const resourceFields = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
];

export function validateResourceFieldRef(ref: k8s.V1ResourceFieldSelector, at: FieldErrors): void {
  const { resource, divisor } = ref;
  if (!resource) {
    at.required("resource");
    return;
  }
  const hugePages = /^(?:limits|requests)\.hugepages-/.test(resource);
  if (!hugePages) at.oneOf("resource", resource, resourceFields);
  if (divisor === undefined || divisor === "0") return;
  const subject = hugePages ? "hugepages" : divisorSubjects[resource.slice(resource.indexOf(".") + 1)];
  const [allowed, listed] =
    subject === "cpu" ? [["1m", "1"], "1m and 1"] : [byteDivisors, byteDivisors.join(", ")];
  if (subject && !allowed.includes(divisor)) {
    const verb = `only divisor's values ${listed} are supported with the ${subject} resource`;
    at.invalid("divisor", resource, verb);
  }
}

const byteDivisors = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];
const divisorSubjects: Readonly<Record<string, string>> = {
  cpu: "cpu",
  memory: "memory",
  "ephemeral-storage": "local ephemeral storage",
};

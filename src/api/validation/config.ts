import type * as k8s from "@kubernetes/client-node";
import type { FieldError } from "../field-error.ts";
import { isEqual } from "../is-equal.ts";
import { configKeyProblems } from "../names.ts";
import type { Wire } from "../objects.ts";
import { goSyntaxError } from "../schema/go-syntax-error.ts";
import { Report } from "./report.ts";

type ConfigMap = Wire<k8s.V1ConfigMap>;
type Secret = Wire<k8s.V1Secret>;

/** What one object may hold, so that a pod can be given all of it. */
const maxBytes = 1024 * 1024;

export function validateConfigMap({ data = {}, binaryData = {} }: ConfigMap): FieldError[] {
  const at = new Report("");
  let bytes = 0;
  for (const key in data) {
    at.problems(`data[${key}]`, key, configKeyProblems(key));
    if (Object.hasOwn(binaryData, key)) {
      at.invalid(`data[${key}]`, key, "duplicate of key present in binaryData");
    }
    bytes += Buffer.byteLength(data[key] ?? "");
  }
  for (const key in binaryData) {
    at.problems(`binaryData[${key}]`, key, configKeyProblems(key));
    bytes += Buffer.byteLength(binaryData[key] ?? "", "base64");
  }
  // The object as a whole: upstream's path without a field prints so.
  if (bytes > maxBytes) at.tooLong("[]", maxBytes);
  return at.errors;
}

export function validateConfigMapUpdate(next: ConfigMap, current: ConfigMap): FieldError[] {
  const at = new Report("");
  if (current.immutable) validateFrozen(next, current, at, ["data", "binaryData"]);
  return [...at.errors, ...validateConfigMap(next)];
}

function validateFrozen<T extends { immutable?: boolean }>(
  next: T,
  current: T,
  at: Report,
  fields: readonly (keyof T & string)[],
): void {
  const detail = "field is immutable when `immutable` is set";
  if (!next.immutable) at.forbidden("immutable", detail);
  for (const field of fields) if (!isEqual(next[field], current[field])) at.forbidden(field, detail);
}

export function validateSecret(secret: Secret): FieldError[] {
  const at = new Report("");
  const { data = {} } = secret;
  let bytes = 0;
  for (const key in data) {
    at.problems(`data[${key}]`, key, configKeyProblems(key));
    bytes += Buffer.byteLength(data[key] ?? "", "base64");
  }
  if (bytes > maxBytes) at.tooLong("data", maxBytes);
  validateSecretType(secret, data, at);
  return at.errors;
}

export function validateSecretUpdate(next: Secret, current: Secret): FieldError[] {
  const at = new Report("");
  if (next.type !== current.type) at.invalid("type", next.type, "field is immutable");
  if (current.immutable) validateFrozen(next, current, at, ["data"]);
  return [...at.errors, ...validateSecret(next)];
}

/** Keys that a type of secret must have. */
const requiredKeys: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
};

function validateSecretType({ type = "", metadata }: Secret, data: Record<string, string>, at: Report): void {
  if (type === "kubernetes.io/service-account-token") {
    const key = "kubernetes.io/service-account.name";
    if (!metadata?.annotations?.[key]) at.required(`metadata.annotations[${key}]`);
  } else if (type === "kubernetes.io/basic-auth") {
    if (data.username === undefined && data.password === undefined) {
      at.required("data[username]");
      at.required("data[password]");
    }
  }
  for (const key of Object.hasOwn(requiredKeys, type) ? (requiredKeys[type] ?? []) : []) {
    const value = data[key];
    if (value === undefined || (type === "kubernetes.io/ssh-auth" && value === "")) {
      at.required(`data[${key}]`);
    } else if (type.startsWith("kubernetes.io/docker")) {
      const problem = jsonObjectProblem(Buffer.from(value, "base64").toString());
      if (problem) at.invalid(`data[${key}]`, "<secret contents redacted>", problem);
    }
  }
}

/** Says what Go's parser says: no more of the secret than one character. */
function jsonObjectProblem(text: string): string | undefined {
  if (text.trim() === "") return "unexpected end of JSON input";
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && !Array.isArray(value)) return undefined;
    const kind = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
    return `json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`;
  } catch (error) {
    return error instanceof SyntaxError ? goSyntaxError(error, text) : String(error);
  }
}

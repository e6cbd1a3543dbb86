import { createPrivateKey, X509Certificate } from "node:crypto";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { configKeyProblems } from "../../../meta/names.ts";
import type { Secret } from "../../../meta/objects.ts";
import { goSyntaxError } from "../../../schema/decode-error.ts";
import { ageColumn, column, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import type { Strategy } from "../../strategy.ts";
import { maxDataBytes, validateImmutableData } from "../config-map/kind.ts";

const strategy: Strategy<Secret> = {
  applyDefaults(secret) {
    secret.type ||= "Opaque";
    // stringData is write-only.
    for (const [key, value] of Object.entries(secret.stringData ?? {})) {
      secret.data ??= {};
      secret.data[key] = Buffer.from(value).toString("base64");
    }
    delete secret.stringData;
  },

  validate: validateSecret,
  validateUpdate: validateSecretUpdate,

  warnings: tlsWarnings,

  selectableFields: { type: (secret) => secret.type ?? "" },
};

export const secretKind = defineKind<Secret>({
  resource: { group: "", version: "v1", plural: "secrets", kind: "Secret" },
  strategy,
  columns: [
    nameColumn,
    column("Type", "What the secret is for", ({ type }) => type ?? ""),
    column("Data", "Number of entries", ({ data = {} }) => Object.keys(data).length),
    ageColumn,
  ],
});

function validateSecret(secret: Secret): FieldError[] {
  const at = new FieldErrors("");
  const { data = {} } = secret;
  let bytes = 0;
  for (const key in data) {
    at.problems(`data[${key}]`, key, configKeyProblems(key));
    bytes += Buffer.byteLength(data[key] ?? "", "base64");
  }
  if (bytes > maxDataBytes) at.tooLong("data", maxDataBytes);
  validateSecretType(secret, data, at);
  return at.errors;
}

function validateSecretUpdate(next: Secret, current: Secret): FieldError[] {
  const at = new FieldErrors("");
  if (next.type !== current.type) at.invalid("type", next.type, "field is immutable");
  if (current.immutable) validateImmutableData(next, current, at, ["data"]);
  return [...at.errors, ...validateSecret(next)];
}

/** Keys that a type of secret must have. */
const requiredKeys: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
};

function validateSecretType(
  { type = "", metadata }: Secret,
  data: Record<string, string>,
  at: FieldErrors,
): void {
  if (type === "kubernetes.io/service-account-token") {
    const key = "kubernetes.io/service-account.name";
    if (!metadata.annotations?.[key]) at.required(`metadata.annotations[${key}]`);
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

/** Describes why the text is not a JSON object, as Go's parser does: it shows at most one character of the secret. */
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

/** Warns about a certificate that does not match its key. The secret is stored nevertheless. */
function tlsWarnings({ type, data = {} }: Secret): string[] {
  if (type !== "kubernetes.io/tls") return [];
  const decode = (text = "") => Buffer.from(text, "base64").toString();
  const problem = keyPairProblem(decode(data["tls.crt"]), decode(data["tls.key"]));
  return problem ? [problem] : [];
}

/** Describes why a PEM certificate and key cannot serve TLS, in the words of Go's crypto/tls. Undefined if they can. */
export function keyPairProblem(certificate: string, key: string): string | undefined {
  if (!certificate.includes("-----BEGIN CERTIFICATE-----"))
    return "tls: failed to find any PEM data in certificate input";
  if (!/-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/.test(key))
    return "tls: failed to find any PEM data in key input";
  const parsed = parse(certificate, key);
  if (!parsed) return "tls: failed to parse private key";
  return parsed.certificate.checkPrivateKey(parsed.key)
    ? undefined
    : "tls: private key does not match public key";
}

function parse(certificate: string, key: string) {
  try {
    return { certificate: new X509Certificate(certificate), key: createPrivateKey(key) };
  } catch {
    return undefined;
  }
}

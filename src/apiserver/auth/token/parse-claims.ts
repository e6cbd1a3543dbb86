import type { Claims, Reference } from "./claims.ts";

/** What a verified payload claims; undefined if it is not what we sign. */
export function parseClaims(payload: Readonly<Record<string, unknown>>): Claims | undefined {
  const { iss, sub, jti, exp, nbf, iat, "kubernetes.io": own } = payload;
  const aud = [payload.aud].flat();
  if (!isString(iss) || !isString(sub) || !isString(jti) || !aud.every(isString)) return undefined;
  if (!isTime(exp) || !isTime(nbf) || !isTime(iat)) return undefined;
  if (typeof own !== "object" || own === null) return undefined;

  const { namespace, serviceaccount, pod, secret, node }: Record<string, unknown> = { ...own };
  if (!isString(namespace) || !isReference(serviceaccount)) return undefined;
  if (!isOptionalReference(pod) || !isOptionalReference(secret) || !isOptionalReference(node))
    return undefined;
  const bound = { namespace, serviceaccount, pod, secret, node };
  return { iss, sub, jti, exp, nbf, iat, aud, "kubernetes.io": bound };
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function isReference(value: unknown): value is Reference {
  if (typeof value !== "object" || value === null || !("name" in value)) return false;
  return isString(value.name) && (!("uid" in value) || isString(value.uid));
}

function isOptionalReference(value: unknown): value is Reference | undefined {
  return value === undefined || isReference(value);
}

import type * as k8s from "@kubernetes/client-node";
import { type FieldError, invalid } from "../../../api/field-error.ts";
import { formatTime } from "../../../api/format-time.ts";
import type { ObjectMeta, Wire } from "../../../api/objects.ts";
import { conflict, invalidObject, notFound } from "../../../api/status-error.ts";
import { bindToken, type TokenObjects, type TokenTarget } from "./bind-token.ts";
import { buildClaims } from "./claims.ts";
import { signJwt } from "./jwt.ts";
import type { SigningKey } from "./signing-key.ts";

export type TokenRequest = Wire<k8s.AuthenticationV1TokenRequest>;

export interface TokenRequestDeps {
  readonly issuer: string;
  readonly apiAudiences: readonly string[];
  readonly key: SigningKey;
  readonly objects: TokenObjects;
  newId(): string;
  now(): number;
}

const kind = { group: "authentication.k8s.io", kind: "TokenRequest" };
const minSeconds = 10 * 60;
const maxSeconds = 2 ** 32;

/**
 * Kubelets ask for exactly this long for the token that every pod gets. Such a token works for a year, so that old
 * programs which read it only once go on; `warnafter` tells when a good program would have read it again.
 */
const podTokenSeconds = 60 * 60 + 7;
const extendedSeconds = 365 * 24 * 60 * 60;

/** `serviceaccounts/NAME/token`: checks the request and answers it with a signed token. */
export async function requestToken(
  { namespace, name }: TokenTarget,
  request: TokenRequest,
  deps: TokenRequestDeps,
): Promise<TokenRequest> {
  const metadata = request.metadata ?? {};
  checkTarget(metadata, { namespace, name });
  const account = await deps.objects.serviceAccount(namespace, name);
  if (!account) throw notFound({ group: "", plural: "serviceaccounts" }, name);
  const uid = account.metadata.uid ?? "";
  if (metadata.uid && metadata.uid !== uid) {
    const detail = `the UID in the token request (${metadata.uid}) does not match the UID of the service account (${uid})`;
    throw conflict({ group: kind.group, plural: kind.kind }, name, detail);
  }
  const { boundObjectRef, expirationSeconds = 3600, audiences: wanted = [] } = request.spec ?? {};
  const audiences = wanted.length > 0 ? wanted : [...deps.apiAudiences];
  checkExpiration(expirationSeconds);
  const binding = boundObjectRef ? await bindToken(boundObjectRef, { namespace, name }, deps.objects) : {};

  const isPodToken =
    binding.pod !== undefined &&
    expirationSeconds === podTokenSeconds &&
    audiences.every((audience) => deps.apiAudiences.includes(audience));
  const now = deps.now();
  const claims = buildClaims({
    issuer: deps.issuer,
    audiences,
    serviceAccount: { namespace, name, uid },
    binding,
    expirationSeconds: isPodToken ? extendedSeconds : expirationSeconds,
    ...(isPodToken && { warnAfterSeconds: expirationSeconds }),
    id: deps.newId(),
    now,
  });
  return {
    kind: kind.kind,
    apiVersion: `${kind.group}/v1`,
    metadata: { ...metadata, name, namespace, uid, creationTimestamp: formatTime(now) },
    spec: { ...request.spec, audiences, expirationSeconds },
    status: {
      token: signJwt(claims, deps.key),
      expirationTimestamp: formatTime(now + expirationSeconds * 1000),
    },
  };
}

function checkTarget(metadata: ObjectMeta, { namespace, name }: TokenTarget): void {
  const errors: FieldError[] = [];
  if (metadata.name && metadata.name !== name) {
    errors.push(invalid("metadata.name", metadata.name, "must match the service account name if specified"));
  } else if (metadata.namespace && metadata.namespace !== namespace) {
    const detail = "must match the service account namespace if specified";
    errors.push(invalid("metadata.namespace", metadata.namespace, detail));
  }
  if (errors.length > 0) throw invalidObject(kind, name, errors);
}

function checkExpiration(seconds: number): void {
  const detail =
    seconds < minSeconds
      ? "may not specify a duration less than 10 minutes"
      : "may not specify a duration larger than 2^32 seconds";
  if (seconds >= minSeconds && seconds <= maxSeconds) return;
  throw invalidObject(kind, "", [invalid("spec.expirationSeconds", seconds, detail)]);
}

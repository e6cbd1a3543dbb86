import type * as k8s from "@kubernetes/client-node";
import { type FieldError, invalid } from "../../../api/meta/field-errors.ts";
import type { KubeObject, ObjectMeta, Pod, Wire } from "../../../api/meta/objects.ts";
import { badRequest, conflict, invalidObject, notFound } from "../../../api/meta/status-error.ts";
import { formatTime } from "../../../api/meta/time.ts";
import { type Binding, buildClaims, type Reference } from "./claims.ts";
import { type SigningKey, signJwt } from "./jwt.ts";

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
 * Lifetime that kubelets request for the default token of a pod. Such a token is valid for a year, for programs that read
 * it only once; `warnafter` is the time by which a program should have read it again.
 */
const podTokenSeconds = 60 * 60 + 7;
const extendedSeconds = 365 * 24 * 60 * 60;

/** `serviceaccounts/NAME/token`: validates the request and returns a signed token. */
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

/** Service accounts and objects to which tokens can be bound, current enough that no existing object is missed. */
export interface TokenObjects {
  serviceAccount(namespace: string, name: string): Promise<KubeObject | undefined>;
  pod(namespace: string, name: string): Promise<Pod | undefined>;
  secret(namespace: string, name: string): Promise<KubeObject | undefined>;
  node(name: string): Promise<KubeObject | undefined>;
}

type BoundReference = Wire<k8s.V1BoundObjectReference>;

/** Service account of a token. */
interface TokenTarget {
  readonly namespace: string;
  readonly name: string;
}

/** Resolves the object to which a token is bound. The token is invalid once the object is deleted. */
async function bindToken(
  reference: BoundReference,
  target: TokenTarget,
  objects: TokenObjects,
): Promise<Binding> {
  const { apiVersion = "", kind = "", name = "" } = reference;
  switch (apiVersion.includes("/") ? "" : kind) {
    case "Pod": {
      const pod = existing("pods", reference, await objects.pod(target.namespace, name));
      checkServiceAccount(pod, target.name);
      const nodeName = pod.spec?.nodeName;
      // If the node does not exist, its UID is left out.
      const node = nodeName && { name: nodeName, uid: (await objects.node(nodeName))?.metadata.uid };
      return { pod: checked(reference, pod), ...(node && { node }) };
    }
    case "Node":
      return { node: checked(reference, existing("nodes", reference, await objects.node(name))) };
    case "Secret": {
      const secret = existing("secrets", reference, await objects.secret(target.namespace, name));
      return { secret: checked(reference, secret) };
    }
    default: {
      const version = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
      throw badRequest(`cannot bind token to object of type ${version}, Kind=${kind}`);
    }
  }
}

function existing<T>(plural: string, { name = "" }: BoundReference, object: T | undefined): T {
  if (!object) throw notFound({ group: "", plural }, name);
  return object;
}

function checkServiceAccount(pod: Pod, account: string): void {
  if (pod.spec?.serviceAccountName === account) return;
  throw badRequest(
    `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
  );
}

function checked({ kind = "", name = "", uid }: BoundReference, object: KubeObject): Reference {
  if (!uid || uid === object.metadata.uid) return { name, uid: object.metadata.uid };
  const detail = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
  throw conflict({ group: "", plural: kind }, name, detail);
}

import { randomUUID } from "node:crypto";
import { nodeKind } from "../../../api/kinds/core/node/kind.ts";
import { podKind } from "../../../api/kinds/core/pod/kind.ts";
import { secretKind } from "../../../api/kinds/core/secret/kind.ts";
import { serviceAccountKind } from "../../../api/kinds/core/service-account/kind.ts";
import type { KubeObject, Pod } from "../../../api/meta/objects.ts";
import type { Clock } from "../../../lib/clock.ts";
import { createLister } from "../../storage/lister.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import type { Pki } from "../pki/pki.ts";
import { type AuthenticateToken, createTokenAuthenticator } from "./authenticate-token.ts";
import type { BoundObject, BoundObjects } from "./claims.ts";
import { type SigningKey, signingKeyOf } from "./jwt.ts";
import type { TokenObjects, TokenRequestDeps } from "./request-token.ts";
import type { StaticTokens } from "./token-file.ts";

const issuer = "https://kubernetes.default.svc.cluster.local";

/** Service account tokens of one cluster, which its key signs. */
export interface ServiceAccountTokens {
  /** Audiences of the API server. */
  readonly apiAudiences: readonly string[];
  readonly authenticate: AuthenticateToken;
  /** Dependencies of `requestToken`. */
  readonly issuing: TokenRequestDeps;
  /** Documents with which others verify tokens, by path. `server` is the URL under which they reach this server. */
  openIdDocuments(server: () => string): ReadonlyMap<string, () => object>;
}

export function createServiceAccountTokens(deps: {
  readonly objectStore: ObjectStore;
  readonly key: Pki["serviceAccountKey"];
  readonly staticTokens: StaticTokens | undefined;
  readonly clock: Clock;
}): ServiceAccountTokens {
  const { now } = deps.clock;
  const apiAudiences = [issuer];
  const key = signingKeyOf(deps.key);
  const objects = createTokenObjects(deps.objectStore);
  return {
    apiAudiences,
    authenticate: createTokenAuthenticator({
      issuer,
      apiAudiences,
      keys: [key],
      objects: boundObjects(objects),
      staticTokens: deps.staticTokens,
      now,
    }),
    issuing: { issuer, apiAudiences, key, objects, newId: randomUUID, now },
    openIdDocuments: (server) =>
      new Map([
        ["/.well-known/openid-configuration", () => openidConfiguration({ issuer, server: server() })],
        [jwksPath, () => jwks([key])],
      ]),
  };
}

const jwksPath = "/openid/v1/jwks";

export function openidConfiguration({ issuer, server }: { issuer: string; server: string }): object {
  return {
    issuer,
    jwks_uri: `${server}${jwksPath}`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  };
}

export function jwks(keys: readonly SigningKey[]): object {
  return {
    keys: keys.map(({ id, publicKey }) => {
      const { kty, crv, x, y } = publicKey.export({ format: "jwk" });
      return { use: "sig", kty, kid: id, crv, alg: "ES256", x, y };
    }),
  };
}

/** Service accounts, and the objects to which their tokens are bound. */
function createTokenObjects(objectStore: ObjectStore): TokenObjects {
  const accounts = createLister(objectStore, serviceAccountKind);
  const pods = createLister<Pod>(objectStore, podKind);
  const secrets = createLister(objectStore, secretKind);
  const nodes = createLister(objectStore, nodeKind);
  return {
    serviceAccount: (namespace, name) => accounts.current(namespace, name),
    pod: (namespace, name) => pods.current(namespace, name),
    secret: (namespace, name) => secrets.current(namespace, name),
    node: (name) => nodes.current("", name),
  };
}

/** The fields of these objects on which the validity of a token depends. */
function boundObjects(objects: TokenObjects): BoundObjects {
  return {
    serviceAccount: async (namespace, name) => toBound(await objects.serviceAccount(namespace, name)),
    pod: async (namespace, name) => toBound(await objects.pod(namespace, name)),
    secret: async (namespace, name) => toBound(await objects.secret(namespace, name)),
    node: async (name) => toBound(await objects.node(name)),
  };
}

function toBound(object: KubeObject | undefined): BoundObject | undefined {
  if (!object) return undefined;
  const { uid = "", deletionTimestamp } = object.metadata;
  return { uid, ...(deletionTimestamp && { deletionTimestamp }) };
}

import type { KubeObject } from "../../api/objects.ts";
import { decodeBody } from "../../api/schema/decode-body.ts";
import type { Admit } from "../admission/admit.ts";
import type { Answer, ApiRequest } from "../api-request.ts";
import { requestToken, type TokenRequest, type TokenRequestDeps } from "../auth/token/request-token.ts";
import type { ObjectRef } from "../registry/registry.ts";
import { bodyAsJson } from "../representation/body-as-json.ts";

const tokenKind = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" };

/** `serviceaccounts/NAME/token`: a token for a service account, bound to an object where the request says so. */
export async function handleToken(
  deps: TokenRequestDeps & { readonly admit: Admit },
  request: ApiRequest,
  ref: ObjectRef,
): Promise<Answer> {
  const text = await bodyAsJson(await request.readBody(), request.headers["content-type"]);
  const { object } = decodeBody<TokenRequest>(tokenKind, text, { fieldValidation: "Ignore" });
  const { user } = request;
  const admitted = {
    operation: "create",
    ref,
    subresource: "token",
    current: undefined,
    user,
    dryRun: false,
  } as const;
  await deps.admit({ ...admitted, object: object as KubeObject });
  const answered = await requestToken({ namespace: ref.namespace, name: ref.name }, object, deps);
  return { kind: "object", status: 201, object: answered as KubeObject };
}

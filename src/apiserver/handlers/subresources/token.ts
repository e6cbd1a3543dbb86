import type { KubeObject } from "../../../api/meta/objects.ts";
import { builtInSchema } from "../../../api/schema/built-in-schema.ts";
import { decodeBody } from "../../../api/schema/decode-body.ts";
import type { AdmissionChain } from "../../admission/admission-chain.ts";
import { requestToken, type TokenRequest, type TokenRequestDeps } from "../../auth/token/request-token.ts";
import type { ApiRequest, ApiResponse } from "../../request/api-request.ts";
import { bodyAsJson } from "../../request/body-as-json.ts";
import type { ObjectRef } from "../../storage/object-store.ts";

const tokenKind = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" };

/** `serviceaccounts/NAME/token`: issues a token for a service account, optionally bound to an object. */
export async function handleToken(
  deps: { readonly tokens: TokenRequestDeps; readonly admission: AdmissionChain },
  request: ApiRequest,
  ref: ObjectRef,
): Promise<ApiResponse> {
  const text = await bodyAsJson(await request.readBody(), request.headers["content-type"], builtInSchema);
  const { object } = decodeBody<TokenRequest>(builtInSchema, tokenKind, text, { fieldValidation: "Ignore" });
  const { user } = request;
  const admitted = {
    operation: "create",
    ref,
    subresource: "token",
    current: undefined,
    user,
    dryRun: false,
  } as const;
  await deps.admission.admit({ ...admitted, object: object as KubeObject });
  const answered = await requestToken({ namespace: ref.namespace, name: ref.name }, object, deps.tokens);
  return { kind: "object", status: 201, object: answered as KubeObject };
}

import type { KubeObject, Namespace } from "../../../api/meta/objects.ts";
import { conflict, methodNotAllowed, modifiedDetail } from "../../../api/meta/status-error.ts";
import { builtInSchema } from "../../../api/schema/built-in-schema.ts";
import { decodeBody } from "../../../api/schema/decode-body.ts";
import type { ApiRequest, ApiResponse } from "../../request/api-request.ts";
import { bodyAsJson } from "../../request/body-as-json.ts";
import type { Verb } from "../../request/request-info.ts";
import type { Change, ObjectRef, ObjectStore } from "../../storage/object-store.ts";
import { parseWriteOptions } from "../verbs/write-options.ts";

/** `namespaces/NAME/finalize`: removes finalizers of a namespace, and the namespace with the last of them. */
export async function handleFinalize(
  objectStore: ObjectStore,
  request: ApiRequest,
  ref: ObjectRef,
  verb: Verb,
): Promise<ApiResponse> {
  if (verb !== "update") throw methodNotAllowed();
  const text = await bodyAsJson(await request.readBody(), request.headers["content-type"], builtInSchema);
  const options = parseWriteOptions(request.query, "UpdateOptions");
  const { object: wanted, warnings } = decodeBody<Namespace>(builtInSchema, ref.resource, text, options);

  let next: Namespace | undefined;
  const result = await objectStore.change(ref, (cached): Change => {
    const current = cached.parse() as Namespace;
    const version = wanted.metadata?.resourceVersion;
    if (version && version !== current.metadata.resourceVersion)
      throw conflict(ref.resource, ref.name, modifiedDetail);
    next = {
      ...current,
      spec: wanted.spec?.finalizers?.length ? { finalizers: wanted.spec.finalizers } : {},
    };
    return isReleased(next) ? { kind: "remove" } : { kind: "put", object: next };
  });
  const object = result.kind === "removed" && next ? next : result.object;
  return { kind: "object", status: 200, object, warnings };
}

function isReleased(namespace: Namespace & KubeObject): boolean {
  const { deletionTimestamp, finalizers = [] } = namespace.metadata;
  return (
    deletionTimestamp !== undefined &&
    finalizers.length === 0 &&
    (namespace.spec?.finalizers ?? []).length === 0
  );
}

import type { KubeObject, Namespace } from "../../api/objects.ts";
import { decodeBody } from "../../api/schema/decode-body.ts";
import { conflict, methodNotAllowed, modifiedDetail } from "../../api/status-error.ts";
import type { Answer, ApiRequest } from "../api-request.ts";
import type { Change, ObjectRef, Registry } from "../registry/registry.ts";
import { bodyAsJson } from "../representation/body-as-json.ts";
import type { Verb } from "../request-info.ts";
import { parseWriteOptions } from "../verb/write-options.ts";

/** `namespaces/NAME/finalize`: whoever emptied a namespace takes their finalizer off it; with the last one it goes. */
export async function handleFinalize(
  registry: Registry,
  request: ApiRequest,
  ref: ObjectRef,
  verb: Verb,
): Promise<Answer> {
  if (verb !== "update") throw methodNotAllowed();
  const text = await bodyAsJson(await request.readBody(), request.headers["content-type"]);
  const options = parseWriteOptions(request.query, "UpdateOptions");
  const { object: wanted, warnings } = decodeBody<Namespace>(ref.resource, text, options);

  let next: Namespace | undefined;
  const result = await registry.change(ref, (cached): Change => {
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

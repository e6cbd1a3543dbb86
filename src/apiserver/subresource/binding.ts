import type { Pod } from "../../api/objects.ts";
import { decodeBody } from "../../api/schema/decode-body.ts";
import { badRequest, conflict, invalidObject } from "../../api/status-error.ts";
import type { Answer, ApiRequest } from "../api-request.ts";
import type { Change, ObjectRef } from "../registry/registry.ts";
import { bodyAsJson } from "../representation/body-as-json.ts";
import { type Binding, bindPod } from "../strategy/bind-pod.ts";
import type { WriteDeps } from "../verb/write-deps.ts";
import { parseWriteOptions } from "../verb/write-options.ts";

const bindingKind = { group: "", version: "v1", kind: "Binding" };

/** `pods/NAME/binding`: a scheduler says on which node the pod runs. Under `bindings`, the body says which pod. */
export async function handleBinding(
  deps: WriteDeps,
  request: ApiRequest,
  target: Omit<ObjectRef, "name"> & { readonly name?: string },
): Promise<Answer> {
  const text = await bodyAsJson(await request.readBody(), request.headers["content-type"]);
  const { object: binding } = decodeBody<Binding>(bindingKind, text, { fieldValidation: "Ignore" });
  const { name = "" } = binding.metadata ?? {};
  const ref: ObjectRef = { name, ...target };
  if (name !== ref.name) throw badRequest("name in URL does not match name in Binding object");
  const { dryRun } = parseWriteOptions(request.query, "CreateOptions");
  const { user } = request;
  await deps.admit({
    operation: "create",
    ref,
    subresource: "binding",
    object: binding,
    current: undefined,
    user,
    dryRun,
  });
  await deps.registry.change(ref, (cached): Change => {
    const result = bindPod(cached.parse() as Pod, binding, deps.clock.now());
    if (result.kind === "invalid") throw invalidObject(bindingKind, ref.name, result.errors);
    if (result.kind === "conflict")
      throw conflict({ group: "", plural: "pods/binding" }, ref.name, result.message);
    return dryRun ? { kind: "keep" } : { kind: "put", object: result.pod };
  });
  return {
    kind: "object",
    status: 201,
    object: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 },
  };
}

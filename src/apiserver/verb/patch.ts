import type { KubeObject } from "../../api/objects.ts";
import { applyPatch, type Patch } from "../../api/patch/apply-patch.ts";
import type { DecodedBody } from "../../api/schema/decode-body.ts";
import { definitionName } from "../../api/schema/schema.ts";
import type { Answer } from "../api-request.ts";
import { keepSpec, withoutSpec } from "../registry/lazy-spec.ts";
import { presentObject, toStoredKind } from "../representation/present-json.ts";
import { type UpdateRequest, updateObject } from "./update.ts";
import type { WriteDeps } from "./write-deps.ts";

export interface PatchRequest extends Omit<UpdateRequest, "next" | "warnings"> {
  readonly patch: Patch;
}

export async function patchObject(deps: WriteDeps, request: PatchRequest): Promise<Answer> {
  const { resource } = request.ref;
  const warnings: string[] = [];
  const apply = (object: KubeObject) => applyPatch(request.patch, definitionName(resource), object);
  const applyTo = request.subresource === "status" ? besideSpec(apply, request.patch) : apply;
  const next = (current: KubeObject): KubeObject => {
    const patched = applyTo(presentObject(current, resource));
    // The patch may be applied again after a lost race: its warnings are those of the last time.
    warnings.splice(0, warnings.length, ...patched.warnings);
    return toStoredKind(patched.object, resource);
  };
  return updateObject(deps, { ...request, next, warnings });
}

type Apply = (object: KubeObject) => DecodedBody<KubeObject>;

/**
 * A status patch never changes the spec, which is most of an object: it need not be merged, checked and copied. A JSON
 * patch is given it all the same, for it may test something there.
 */
function besideSpec(apply: Apply, patch: Patch): Apply {
  if (patch.type === "json") return apply;
  return (current) => {
    const { object, warnings } = apply(withoutSpec(current));
    keepSpec(object, current);
    return { object, warnings };
  };
}

import type { KubeObject } from "../../api/objects.ts";
import { applyPatch, type Patch } from "../../api/patch/apply-patch.ts";
import { definitionName } from "../../api/schema/schema.ts";
import type { Answer } from "../api-request.ts";
import { presentObject, toStoredKind } from "../present-json.ts";
import type { WriteDeps } from "../writer.ts";
import { type UpdateRequest, updateObject } from "./update.ts";

export interface PatchRequest extends Omit<UpdateRequest, "next" | "warnings"> {
  readonly patch: Patch;
}

export async function patchObject(deps: WriteDeps, request: PatchRequest): Promise<Answer> {
  const { resource } = request.ref;
  const warnings: string[] = [];
  const next = (current: KubeObject): KubeObject => {
    const patched = applyPatch(request.patch, definitionName(resource), presentObject(current, resource));
    // The patch may be applied again after a lost race: its warnings are those of the last time.
    warnings.splice(0, warnings.length, ...patched.warnings);
    return toStoredKind(patched.object, resource);
  };
  return updateObject(deps, { ...request, next, warnings });
}

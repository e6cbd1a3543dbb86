import type { Answer } from "../api-request.ts";
import type { ObjectRef, Registry } from "../registry/registry.ts";

export async function getObject(registry: Registry, ref: ObjectRef): Promise<Answer> {
  return { kind: "object", status: 200, object: await registry.get(ref) };
}

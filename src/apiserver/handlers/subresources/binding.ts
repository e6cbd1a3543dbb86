import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../../api/meta/field-errors.ts";
import { dnsSubdomainProblems } from "../../../api/meta/names.ts";
import type { KubeObject, Pod, Wire } from "../../../api/meta/objects.ts";
import { badRequest, conflict, invalidObject } from "../../../api/meta/status-error.ts";
import { formatTime } from "../../../api/meta/time.ts";
import { builtInSchema } from "../../../api/schema/built-in-schema.ts";
import { decodeBody } from "../../../api/schema/decode-body.ts";
import type { ApiRequest, ApiResponse } from "../../request/api-request.ts";
import { bodyAsJson } from "../../request/body-as-json.ts";
import type { Change, ObjectRef } from "../../storage/object-store.ts";
import type { WriteDeps } from "../verbs/write-deps.ts";
import { parseWriteOptions } from "../verbs/write-options.ts";

const bindingKind = { group: "", version: "v1", kind: "Binding" };

/** `pods/NAME/binding`: assigns the pod to a node. For the resource `bindings`, the body names the pod. */
export async function handleBinding(
  deps: WriteDeps,
  request: ApiRequest,
  target: Omit<ObjectRef, "name"> & { readonly name?: string },
): Promise<ApiResponse> {
  const text = await bodyAsJson(await request.readBody(), request.headers["content-type"], builtInSchema);
  const { object: binding } = decodeBody<Binding>(builtInSchema, bindingKind, text, {
    fieldValidation: "Ignore",
  });
  const { name = "" } = binding.metadata ?? {};
  const ref: ObjectRef = { name, ...target };
  if (name !== ref.name) throw badRequest("name in URL does not match name in Binding object");
  const { dryRun } = parseWriteOptions(request.query, "CreateOptions");
  const { user } = request;
  await deps.admission.admit({
    operation: "create",
    ref,
    subresource: "binding",
    object: binding,
    current: undefined,
    user,
    dryRun,
  });
  await deps.objectStore.change(ref, (cached): Change => {
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

export type Binding = KubeObject & Wire<k8s.V1Binding>;

export type BindResult =
  | { readonly kind: "bound"; readonly pod: Pod }
  | { readonly kind: "invalid"; readonly errors: FieldError[] }
  /** The pod is already assigned or has scheduling gates. */
  | { readonly kind: "conflict"; readonly message: string };

/** Assigns a pod to the node that a binding names. */
export function bindPod(pod: Pod, binding: Binding, now: number): BindResult {
  const errors = validateBinding(binding);
  if (errors.length > 0) return { kind: "invalid", errors };
  const { metadata, spec = { containers: [] }, status = {} } = pod;
  const { name, uid } = metadata;
  // The pod was deleted and created again under the same name since the scheduler read it.
  if (binding.metadata.uid && binding.metadata.uid !== uid) {
    const message = `Precondition failed: UID in precondition: ${binding.metadata.uid}, UID in object meta: ${uid}`;
    return { kind: "conflict", message };
  }
  if (metadata.deletionTimestamp) {
    return { kind: "conflict", message: `pod ${name} is being deleted, cannot be assigned to a host` };
  }
  if (spec.nodeName) {
    return { kind: "conflict", message: `pod ${name} is already assigned to node "${spec.nodeName}"` };
  }
  if (spec.schedulingGates?.length) {
    return { kind: "conflict", message: `pod ${name} has non-empty .spec.schedulingGates` };
  }
  const { nominatedNodeName: _, ...rest } = status;
  return {
    kind: "bound",
    pod: {
      ...pod,
      metadata: {
        ...metadata,
        ...merged("annotations", metadata.annotations, binding.metadata.annotations),
        ...merged("labels", metadata.labels, binding.metadata.labels),
      },
      spec: { ...spec, nodeName: binding.target.name },
      status: { ...rest, conditions: withScheduled(status.conditions ?? [], now) },
    },
  };
}

function validateBinding({ target }: Binding): FieldError[] {
  const at = new FieldErrors("target");
  if (target?.kind && target.kind !== "Node") at.notSupported("kind", target.kind, ["Node", "<empty>"]);
  if (!target?.name) at.required("name");
  else at.problems("name", target.name, dnsSubdomainProblems(target.name));
  return at.errors;
}

function merged(
  field: "annotations" | "labels",
  own: Record<string, string> | undefined,
  added: Record<string, string> | undefined,
): Record<string, Record<string, string>> {
  return added ? { [field]: { ...own, ...added } } : {};
}

type Condition = Wire<k8s.V1PodCondition>;

function withScheduled(conditions: readonly Condition[], now: number): Condition[] {
  const scheduled: Condition = {
    type: "PodScheduled",
    status: "True",
    lastTransitionTime: formatTime(now),
  };
  const others = conditions.filter(({ type }) => type !== "PodScheduled");
  return [...others, scheduled];
}

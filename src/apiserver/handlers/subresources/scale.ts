import type * as k8s from "@kubernetes/client-node";
import type { ScaleFields } from "../../../api/kinds/kind-definition.ts";
import { invalid } from "../../../api/meta/field-errors.ts";
import type { KubeObject, Wire } from "../../../api/meta/objects.ts";
import { apiVersionOf } from "../../../api/meta/resource.ts";
import { formatLabelSelector, labelSelectorOf } from "../../../api/meta/selector.ts";
import { badRequest, invalidObject, methodNotAllowed } from "../../../api/meta/status-error.ts";
import { applyPatch } from "../../../api/patch/apply-patch.ts";
import { builtInSchema } from "../../../api/schema/built-in-schema.ts";
import { decodeBody } from "../../../api/schema/decode-body.ts";
import { isJsonObject } from "../../../api/schema/json-object.ts";
import { definitionName } from "../../../api/schema/schema.ts";
import type { ApiRequest, ApiResponse, ObjectResponse } from "../../request/api-request.ts";
import { bodyAsJson } from "../../request/body-as-json.ts";
import type { Verb } from "../../request/request-info.ts";
import { CachedObject } from "../../storage/cached-object.ts";
import type { ObjectRef } from "../../storage/object-store.ts";
import { applyObject } from "../verbs/apply.ts";
import { isApplyPatch, readApplyPatch } from "../verbs/read-apply-patch.ts";
import { writerOf } from "../verbs/track-fields.ts";
import { checkUid, updateObject } from "../verbs/update.ts";
import { definitionOf, type WriteDeps } from "../verbs/write-deps.ts";
import { parseWriteOptions, readPatch, type WriteOptions } from "../verbs/write-options.ts";

type Scale = KubeObject & Wire<k8s.V1Scale>;
/** Fields that Deployments, ReplicaSets and StatefulSets share. */
type Scalable = KubeObject & {
  spec?: { replicas?: number; selector?: Wire<k8s.V1LabelSelector> };
  status?: { replicas?: number };
};

export const scaleKind = { group: "autoscaling", version: "v1", kind: "Scale" };

/** `scale`: the replicas of any scalable kind, as an object of the kind Scale. */
export async function handleScale(
  deps: WriteDeps,
  request: ApiRequest,
  ref: ObjectRef,
  verb: Verb,
): Promise<ApiResponse> {
  switch (verb) {
    case "get":
      return {
        kind: "object",
        status: 200,
        object: toScale((await deps.objectStore.get(ref)).parse(), fieldsOf(deps, ref)),
      };
    case "update": {
      const options = parseWriteOptions(request.query, "UpdateOptions");
      const text = await bodyAsJson(await request.readBody(), request.headers["content-type"], builtInSchema);
      const { object, warnings } = decodeBody<Scale>(builtInSchema, scaleKind, text, options);
      return writeScale(deps, request, { ref, next: () => object, warnings, options });
    }
    case "patch": {
      const options = parseWriteOptions(request.query, "PatchOptions");
      if (isApplyPatch(request)) return applyScale(deps, request, ref, options);
      const patch = await readPatch(request, options);
      const next = (current: Scale) =>
        applyPatch<Scale>(patch, { schema: builtInSchema, definition: definitionName(scaleKind) }, current)
          .object;
      return writeScale(deps, request, { ref, next, warnings: [], options });
    }
    default:
      throw methodNotAllowed();
  }
}

async function writeScale(
  deps: WriteDeps,
  request: ApiRequest,
  write: {
    ref: ObjectRef;
    next: (current: Scale) => Scale;
    warnings: readonly string[];
    options: WriteOptions;
  },
): Promise<ApiResponse> {
  const { ref, warnings } = write;
  const fields = fieldsOf(deps, ref);
  const updated = await updateObject(deps, {
    ref,
    subresource: "",
    user: request.user,
    writer: writerOf(request, "scale"),
    dryRun: write.options.dryRun,
    warnings,
    next: (current) => withReplicas(current, write.next(toScale(current, fields)), { ref, fields }),
  });
  return { ...updated, object: toScale(parsedObject(updated), fields) };
}

/** Fields of Deployments, ReplicaSets and StatefulSets. */
const workloadFields: ScaleFields = {
  replicas: ({ spec }: Scalable) => spec?.replicas,
  statusReplicas: ({ status }: Scalable) => status?.replicas ?? 0,
  selector: ({ spec }: Scalable) => formatLabelSelector(labelSelectorOf(spec?.selector) ?? []),
  withReplicas: (object: Scalable, replicas) =>
    ({ ...object, spec: { ...object.spec, replicas } }) as Scalable,
};

function fieldsOf(deps: WriteDeps, { resource }: ObjectRef): ScaleFields {
  return definitionOf(deps, resource).scale ?? workloadFields;
}

/** Applies the replicas of a Scale to its object. */
async function applyScale(
  deps: WriteDeps,
  request: ApiRequest,
  ref: ObjectRef,
  { dryRun, fieldValidation }: WriteOptions,
): Promise<ApiResponse> {
  const { configuration, ...options } = await readApplyPatch(request);
  const { apiVersion, spec, metadata } = configuration;
  if (apiVersion !== "autoscaling/v1") {
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${apiVersion}, expected: autoscaling/v1`,
    );
  }
  const { name, resourceVersion, uid } = isJsonObject(metadata) ? metadata : {};
  const applied = await applyObject(deps, {
    ...options,
    ref,
    subresource: "",
    ownedThrough: "scale",
    configuration: {
      apiVersion: apiVersionOf(ref.resource),
      kind: ref.resource.kind,
      metadata: { name, resourceVersion, uid },
      ...(isJsonObject(spec) && { spec: { replicas: spec.replicas } }),
    },
    user: request.user,
    dryRun,
    fieldValidation,
  });
  if (applied.kind !== "object") return applied;
  return { ...applied, object: toScale(parsedObject(applied), fieldsOf(deps, ref)) };
}

function withReplicas(
  current: KubeObject,
  scale: Scale,
  { ref, fields }: { ref: ObjectRef; fields: ScaleFields },
): KubeObject {
  const replicas = scale.spec?.replicas ?? 0;
  // A custom resource is validated as a whole.
  if (replicas < 0 && fields === workloadFields) {
    throw invalidObject(scaleKind, ref.name, [
      invalid("spec.replicas", replicas, "must be greater than or equal to 0"),
    ]);
  }
  const { name, namespace, resourceVersion, uid = current.metadata.uid } = scale.metadata ?? {};
  // The uid and resourceVersion of a Scale are preconditions on its object.
  checkUid(ref, uid, current);
  const metadata = { ...current.metadata, name, namespace, resourceVersion, uid };
  return fields.withReplicas({ ...current, metadata }, replicas);
}

function toScale(object: KubeObject, fields: ScaleFields): Scale {
  const { metadata } = object;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: fields.replicas(object) ?? 0 },
    status: { replicas: fields.statusReplicas(object), selector: fields.selector(object) },
  };
}

function parsedObject({ object }: ObjectResponse): KubeObject {
  return object instanceof CachedObject ? object.parse() : (object as KubeObject);
}

import type * as k8s from "@kubernetes/client-node";
import { invalid } from "../../api/field-error.ts";
import type { KubeObject, Wire } from "../../api/objects.ts";
import { applyPatch } from "../../api/patch/apply-patch.ts";
import { decodeBody } from "../../api/schema/decode-body.ts";
import { definitionName } from "../../api/schema/schema.ts";
import { formatLabelSelector, labelSelectorOf } from "../../api/selector.ts";
import { invalidObject, methodNotAllowed } from "../../api/status-error.ts";
import type { Answer, ApiRequest, ObjectAnswer } from "../api-request.ts";
import { CachedObject } from "../cache/cached-object.ts";
import type { ObjectRef } from "../registry/registry.ts";
import { bodyAsJson } from "../representation/body-as-json.ts";
import type { Verb } from "../request-info.ts";
import { checkUid, updateObject } from "../verb/update.ts";
import type { WriteDeps } from "../verb/write-deps.ts";
import { parseWriteOptions, readPatch, type WriteOptions } from "../verb/write-options.ts";

type Scale = KubeObject & Wire<k8s.V1Scale>;
/** What Deployments, ReplicaSets and StatefulSets have in common. */
type Scalable = KubeObject & {
  spec?: { replicas?: number; selector?: Wire<k8s.V1LabelSelector> };
  status?: { replicas?: number };
};

export const scaleKind = { group: "autoscaling", version: "v1", kind: "Scale" };

/** `scale`: the number of replicas as an object of its own, the same for every kind that has replicas. */
export async function handleScale(
  deps: WriteDeps,
  request: ApiRequest,
  ref: ObjectRef,
  verb: Verb,
): Promise<Answer> {
  switch (verb) {
    case "get":
      return { kind: "object", status: 200, object: toScale((await deps.registry.get(ref)).parse()) };
    case "update": {
      const options = parseWriteOptions(request.query, "UpdateOptions");
      const text = await bodyAsJson(await request.readBody(), request.headers["content-type"]);
      const { object, warnings } = decodeBody<Scale>(scaleKind, text, options);
      return writeScale(deps, request, { ref, next: () => object, warnings, options });
    }
    case "patch": {
      const options = parseWriteOptions(request.query, "PatchOptions");
      const patch = await readPatch(request, options);
      const next = (current: Scale) => applyPatch<Scale>(patch, definitionName(scaleKind), current).object;
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
): Promise<Answer> {
  const { ref, warnings } = write;
  const answer = await updateObject(deps, {
    ref,
    subresource: "",
    user: request.user,
    dryRun: write.options.dryRun,
    warnings,
    next: (current) => withReplicas(current, write.next(toScale(current)), ref),
  });
  return { ...answer, object: toScale(parsedObject(answer)) };
}

function withReplicas(current: Scalable, scale: Scale, ref: ObjectRef): KubeObject {
  const replicas = scale.spec?.replicas ?? 0;
  if (replicas < 0) {
    throw invalidObject(scaleKind, ref.name, [
      invalid("spec.replicas", replicas, "must be greater than or equal to 0"),
    ]);
  }
  const { name, namespace, resourceVersion, uid = current.metadata.uid } = scale.metadata ?? {};
  // What the scale says of itself counts as preconditions on the object behind it.
  checkUid(ref, uid, current);
  const metadata = { ...current.metadata, name, namespace, resourceVersion, uid };
  return { ...current, metadata, spec: { ...current.spec, replicas } } as Scalable;
}

function toScale({ metadata, spec, status }: Scalable): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: spec?.replicas ?? 0 },
    status: {
      replicas: status?.replicas ?? 0,
      selector: formatLabelSelector(labelSelectorOf(spec?.selector) ?? []),
    },
  };
}

function parsedObject({ object }: ObjectAnswer): KubeObject {
  return object instanceof CachedObject ? object.parse() : (object as KubeObject);
}

import { coreEventField } from "../../api/convert-event.ts";
import {
  type FieldRequirement,
  type FieldSelector,
  matchesFields,
  parseFieldSelector,
  requiredFieldValue,
} from "../../api/field-selector.ts";
import { parseLabelSelector } from "../../api/parse-label-selector.ts";
import { apiVersionOf, type Resource } from "../../api/resources.ts";
import { type LabelSelector, matchesLabels } from "../../api/selector.ts";
import { badRequest } from "../../api/status-error.ts";
import type { CachedObject } from "../cache/cached-object.ts";
import type { WatchScope } from "../cache/watcher-index.ts";
import type { Strategy } from "../strategy/strategy.ts";
import { keyPrefix, objectKey } from "./object-key.ts";

/** Which objects of a kind a list or watch is about. */
export interface ObjectSelector {
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
}

export function parseObjectSelector(
  query: URLSearchParams,
  resource: Resource,
  strategy: Strategy,
): ObjectSelector {
  const labels = query.get("labelSelector");
  const fields = query.get("fieldSelector");
  const wanted = fields ? parseFieldSelector(fields) : [];
  for (const { field } of wanted) {
    const known = field === "metadata.name" || (field === "metadata.namespace" && resource.namespaced);
    if (known || Object.hasOwn(strategy.selectableFields ?? {}, field)) continue;
    // Kinds with fields of their own say it another way than those without.
    throw badRequest(
      strategy.selectableFields
        ? `field label not supported: ${field}`
        : `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
    );
  }
  return {
    labels: labels ? parseLabelSelector(labels) : [],
    fields: wanted.map((requirement) => storedField(requirement, resource)),
  };
}

/** Events are stored as core's: the fields of events.k8s.io have other names there. */
function storedField(requirement: FieldRequirement, { group }: Resource): FieldRequirement {
  return group === "events.k8s.io"
    ? { ...requirement, field: coreEventField(requirement.field) }
    : requirement;
}

export function selectsAll({ labels, fields }: ObjectSelector): boolean {
  return labels.length === 0 && fields.length === 0;
}

export function matches({ labels, fields }: ObjectSelector, object: CachedObject): boolean {
  if (labels.length > 0 && !matchesLabels(labels, object.facts().labels)) return false;
  return fields.length === 0 || matchesFields(fields, (field) => object.facts().fields[field] ?? "");
}

/** The narrowest index that holds every object the selector can match. */
export function scopeOf(
  selector: ObjectSelector,
  resource: Resource,
  namespace: string,
  name: string,
): WatchScope {
  const wantedNamespace = namespace || requiredFieldValue(selector.fields, "metadata.namespace") || "";
  const wantedName = name || requiredFieldValue(selector.fields, "metadata.name");
  if (wantedName && (wantedNamespace || !resource.namespaced)) {
    return { kind: "object", key: objectKey(resource, wantedNamespace, wantedName) };
  }
  const nodeName = requiredFieldValue(selector.fields, "spec.nodeName");
  if (nodeName && apiVersionOf(resource) === "v1" && resource.plural === "pods")
    return { kind: "node", nodeName };
  if (wantedNamespace && resource.namespaced)
    return { kind: "namespace", prefix: keyPrefix(resource, wantedNamespace) };
  return { kind: "all" };
}

import { coreEventField } from "../../api/kinds/core/event/convert-event.ts";
import type { Strategy } from "../../api/kinds/strategy.ts";
import {
  type FieldRequirement,
  type FieldSelector,
  matchesFields,
  parseFieldSelector,
  requiredFieldValue,
} from "../../api/meta/field-selector.ts";
import { parseLabelSelector } from "../../api/meta/parse-label-selector.ts";
import { apiVersionOf, type Resource } from "../../api/meta/resource.ts";
import { type LabelSelector, matchesLabels } from "../../api/meta/selector.ts";
import { badRequest } from "../../api/meta/status-error.ts";
import type { CachedObject } from "./cached-object.ts";
import { keyPrefix, objectKey } from "./object-key.ts";
import type { WatchScope } from "./watcher-index.ts";

/** Selects the objects of a list or watch. */
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
    // As upstream, kinds with selectable fields have a different message.
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

/** Events are stored as core/v1, where the fields of events.k8s.io have other names. */
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

/** The narrowest scope that contains every object the selector can match. */
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

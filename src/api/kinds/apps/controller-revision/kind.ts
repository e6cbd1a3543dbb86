import type * as k8s from "@kubernetes/client-node";
import { FieldErrors } from "../../../meta/field-errors.ts";
import { isEqual } from "../../../meta/is-equal.ts";
import { controllerOf } from "../../../meta/object-facts.ts";
import type { KubeObject } from "../../../meta/objects.ts";
import { ageColumn, column, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import type { Strategy } from "../../strategy.ts";

type ControllerRevision = KubeObject & Pick<k8s.V1ControllerRevision, "revision"> & { data?: unknown };

const strategy: Strategy<ControllerRevision> = {
  validate({ revision, data }) {
    const at = new FieldErrors("");
    at.nonNegative("revision", revision);
    if (data === undefined || data === null) at.required("data", "data is mandatory");
    else if (typeof data !== "object" || Array.isArray(data)) {
      at.required("data", "data must be a valid JSON object");
    }
    return at.errors;
  },

  /** The data of a revision is immutable. */
  validateUpdate(next, current) {
    const at = new FieldErrors("");
    at.nonNegative("revision", next.revision);
    if (!isEqual(next.data, current.data)) at.invalid("data", next.data, "field is immutable");
    return at.errors;
  },
};

export const controllerRevisionKind = defineKind<ControllerRevision>({
  resource: { group: "apps", version: "v1", plural: "controllerrevisions", kind: "ControllerRevision" },
  strategy,
  columns: [
    nameColumn,
    column("Controller", "What the revision is of", controllerName),
    column("Revision", "Number of the revision", ({ revision }) => revision ?? 0),
    ageColumn,
  ],
});

/** `statefulset.apps/web` */
function controllerName(object: KubeObject): string {
  const owner = controllerOf(object);
  if (!owner) return "<none>";
  const group = owner.apiVersion.includes("/") ? `.${owner.apiVersion.split("/")[0]}` : "";
  return `${`${owner.kind}${group}`.toLowerCase()}/${owner.name}`;
}

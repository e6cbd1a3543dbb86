import type * as k8s from "@kubernetes/client-node";
import { isEqual } from "../../api/is-equal.ts";
import type { KubeObject } from "../../api/objects.ts";
import { Report } from "../../api/validation/report.ts";
import type { Strategy } from "./strategy.ts";

type ControllerRevision = KubeObject & Pick<k8s.V1ControllerRevision, "revision"> & { data?: unknown };

export const controllerRevisionStrategy: Strategy<ControllerRevision> = {
  validate({ revision, data }) {
    const at = new Report("");
    at.nonNegative("revision", revision);
    if (data === undefined || data === null) at.required("data", "data is mandatory");
    else if (typeof data !== "object" || Array.isArray(data)) {
      at.required("data", "data must be a valid JSON object");
    }
    return at.errors;
  },

  /** What was is history. */
  validateUpdate(next, current) {
    const at = new Report("");
    at.nonNegative("revision", next.revision);
    if (!isEqual(next.data, current.data)) at.invalid("data", next.data, "field is immutable");
    return at.errors;
  },
};

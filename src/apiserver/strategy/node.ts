import { defaultResourceList } from "../../api/defaults/resource-list.ts";
import type { Node } from "../../api/objects.ts";
import { validateNode, validateNodeUpdate } from "../../api/validation/node.ts";
import { keepField } from "./prepare.ts";
import type { Strategy } from "./strategy.ts";

export const nodeStrategy: Strategy<Node> = {
  applyDefaults({ spec, status }) {
    if (spec) defaultPodCidrs(spec);
    if (!status) return;
    if (status.capacity) status.allocatable ??= { ...status.capacity };
    defaultResourceList(status.capacity);
    defaultResourceList(status.allocatable);
  },

  // A kubelet registers itself with its status: it is not reset on create.
  prepareForUpdate(next, current) {
    keepField(next, current, "status");
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
  },

  validate: validateNode,
  validateUpdate: validateNodeUpdate,
  validateStatusUpdate: validateNodeUpdate,

  warnings({ spec }) {
    const deprecated: string[] = [];
    if (spec?.configSource !== undefined)
      deprecated.push("spec.configSource: the feature is no longer supported");
    if (spec?.externalID)
      deprecated.push("spec.externalID: this field is deprecated, and is unused by Kubernetes");
    return deprecated;
  },

  selectableFields: { "spec.unschedulable": ({ spec }) => String(spec?.unschedulable ?? false) },
};

/** `podCIDR` is the old name for the first of `podCIDRs`, and the one that counts where the two differ. */
function defaultPodCidrs(spec: NonNullable<Node["spec"]>): void {
  const first = spec.podCIDRs?.[0];
  if (spec.podCIDR && spec.podCIDR !== first) spec.podCIDRs = [spec.podCIDR];
  else if (first) spec.podCIDR = first;
}

import type * as k8s from "@kubernetes/client-node";
import { defaultService } from "../../api/defaults/service.ts";
import type { KubeObject, Wire } from "../../api/objects.ts";
import {
  validateService,
  validateServiceStatusUpdate,
  validateServiceUpdate,
} from "../../api/validation/service.ts";
import { serviceWarnings } from "../../api/validation/service-warnings.ts";
import { keepField } from "./prepare.ts";
import { dropOtherTypesFields, keepAllocatedValues, normalizeClusterIPs } from "./service-addresses.ts";
import type { Strategy } from "./strategy.ts";

export type Service = KubeObject & Wire<k8s.V1Service>;

export const serviceStrategy: Strategy<Service> = {
  nameRule: "dnsLabel",
  allowCreateOnUpdate: true,

  applyDefaults: defaultService,

  prepareForCreate(next) {
    next.status = { loadBalancer: {} };
    next.spec ??= {};
    normalizeClusterIPs(next.spec, undefined);
  },

  prepareForUpdate(next, current) {
    next.spec ??= {};
    const { spec } = next;
    const before = current.spec ?? {};
    keepAllocatedValues(spec, before);
    normalizeClusterIPs(spec, before);
    keepField(next, current, "status");
    dropOtherTypesFields(spec, before);
    if (spec.type !== "LoadBalancer") next.status = { ...next.status, loadBalancer: {} };
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
  },

  validate: (next) => validateService(next),
  validateUpdate: validateServiceUpdate,
  validateStatusUpdate: validateServiceStatusUpdate,

  warnings: serviceWarnings,

  selectableFields: {
    "spec.clusterIP": ({ spec }) => spec?.clusterIP ?? "",
    "spec.type": ({ spec }) => spec?.type ?? "",
  },
};

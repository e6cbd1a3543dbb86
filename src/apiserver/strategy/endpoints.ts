import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Wire } from "../../api/objects.ts";
import { validateEndpoints, validateEndpointsUpdate } from "../../api/validation/endpoints.ts";
import type { Strategy } from "./strategy.ts";

export const endpointsStrategy: Strategy<KubeObject & Wire<k8s.V1Endpoints>> = {
  allowCreateOnUpdate: true,

  applyDefaults({ subsets }) {
    for (const { ports } of subsets ?? []) for (const port of ports ?? []) port.protocol ||= "TCP";
  },

  validate: validateEndpoints,
  validateUpdate: validateEndpointsUpdate,
};

import type * as k8s from "@kubernetes/client-node";
import { isEqual } from "../../api/is-equal.ts";
import type { KubeObject, Wire } from "../../api/objects.ts";
import { validateEndpointSlice, validateEndpointSliceUpdate } from "../../api/validation/endpoint-slice.ts";
import { raiseGeneration, startGeneration } from "./prepare.ts";
import type { Strategy } from "./strategy.ts";

export const endpointSliceStrategy: Strategy<KubeObject & Wire<k8s.V1EndpointSlice>> = {
  applyDefaults({ ports }) {
    for (const port of ports ?? []) {
      port.name ??= "";
      port.protocol ??= "TCP";
    }
  },

  prepareForCreate: startGeneration,

  prepareForUpdate(next, current) {
    const { metadata: nextMeta, ...after } = next;
    const { metadata: currentMeta, ...before } = current;
    if (!isEqual(after, before) || !isEqual(nextMeta.labels, currentMeta.labels)) {
      raiseGeneration(next, current);
    }
  },

  validate: (next) => validateEndpointSlice(next),
  validateUpdate: validateEndpointSliceUpdate,
};

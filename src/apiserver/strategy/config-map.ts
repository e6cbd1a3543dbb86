import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Wire } from "../../api/objects.ts";
import { validateConfigMap, validateConfigMapUpdate } from "../../api/validation/config.ts";
import type { Strategy } from "./strategy.ts";

export const configMapStrategy: Strategy<KubeObject & Wire<k8s.V1ConfigMap>> = {
  validate: validateConfigMap,
  validateUpdate: validateConfigMapUpdate,
};

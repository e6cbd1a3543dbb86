import type * as k8s from "@kubernetes/client-node";
import { defaultReplicaSet } from "../../api/defaults/workload.ts";
import type { KubeObject, Wire } from "../../api/objects.ts";
import {
  validateReplicaSet,
  validateReplicaSetStatusUpdate,
  validateReplicaSetUpdate,
} from "../../api/validation/deployment.ts";
import { namedTemplateWarnings } from "../../api/validation/pod-warnings.ts";
import { dropGatedTemplateFields } from "./drop-gated-fields.ts";
import { keepField, raiseGenerationOnSpecChange, startGeneration } from "./prepare.ts";
import type { Strategy } from "./strategy.ts";

export type ReplicaSet = KubeObject & Wire<k8s.V1ReplicaSet>;

export const replicaSetStrategy: Strategy<ReplicaSet> = {
  applyDefaults: defaultReplicaSet,

  prepareForCreate(next, { features }) {
    startGeneration(next);
    next.status = { replicas: 0 };
    dropGatedTemplateFields(next, undefined, features);
  },

  prepareForUpdate(next, current, { features }) {
    keepField(next, current, "status");
    dropGatedTemplateFields(next, current, features);
    raiseGenerationOnSpecChange(next, current);
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
  },

  validate: validateReplicaSet,
  validateUpdate: validateReplicaSetUpdate,
  validateStatusUpdate: validateReplicaSetStatusUpdate,
  warnings: namedTemplateWarnings,
};

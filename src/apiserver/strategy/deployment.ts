import type * as k8s from "@kubernetes/client-node";
import { defaultDeployment } from "../../api/defaults/workload.ts";
import { isEqual } from "../../api/is-equal.ts";
import type { KubeObject, Wire } from "../../api/objects.ts";
import {
  validateDeployment,
  validateDeploymentStatusUpdate,
  validateDeploymentUpdate,
} from "../../api/validation/deployment.ts";
import { namedTemplateWarnings } from "../../api/validation/pod-warnings.ts";
import { dropGatedTemplateFields } from "./drop-gated-fields.ts";
import { keepField, raiseGeneration, startGeneration } from "./prepare.ts";
import type { Strategy } from "./strategy.ts";

export type Deployment = KubeObject & Wire<k8s.V1Deployment>;

export const deploymentStrategy: Strategy<Deployment> = {
  applyDefaults: defaultDeployment,

  prepareForCreate(next, { features }) {
    startGeneration(next);
    next.status = {};
    dropGatedTemplateFields(next, undefined, features);
  },

  prepareForUpdate(next, current, { features }) {
    keepField(next, current, "status");
    dropGatedTemplateFields(next, current, features);
    const sameAnnotations = isEqual(next.metadata.annotations, current.metadata.annotations);
    if (!sameAnnotations || !isEqual(next.spec, current.spec)) raiseGeneration(next, current);
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
    keepField(next.metadata, current.metadata, "labels");
  },

  validate: validateDeployment,
  validateUpdate: validateDeploymentUpdate,
  validateStatusUpdate: validateDeploymentStatusUpdate,
  warnings: namedTemplateWarnings,
};

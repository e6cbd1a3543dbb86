import { imagePullProgress } from "./step/image-pull-progress.ts";
import { invalidImageName } from "./step/invalid-image-name.ts";
import { missingConfigMap } from "./step/missing-config-map.ts";
import { slowStarter } from "./step/slow-starter.ts";
import { stuckStatefulSet } from "./step/stuck-stateful-set.ts";
import type { Step } from "./step.ts";

/** In the order in which they are shown. */
export const steps: readonly Step[] = [
  imagePullProgress,
  missingConfigMap,
  invalidImageName,
  slowStarter,
  stuckStatefulSet,
];

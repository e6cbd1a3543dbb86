import type { Scene } from "./scene.ts";
import type { StepInfo } from "./step-info.ts";

/** One stop of the tour. */
export interface Step extends StepInfo {
  /** Throws a StepFailure when what it shows does not come true. */
  run(scene: Scene): Promise<void>;
}

import { type PodStart, type StageName, stages } from "./start-signal.ts";

interface StageTime {
  readonly stage: StageName;
  readonly fromMs: number;
  /** By clocks that differ it may be before the beginning. */
  readonly untilMs: number;
}

/** Each stage from the end of the one before it. Where one of the two is not known it is left out. */
export function stageTimes({ createdMs, ends }: Pick<PodStart, "createdMs" | "ends">): readonly StageTime[] {
  let fromMs: number | undefined = createdMs;
  return stages.flatMap((stage) => {
    const untilMs = ends[stage];
    // Only pods with init containers have the stage: for the others the one after it begins with the sandbox.
    if (untilMs === undefined && stage === "init") return [];
    const begun = fromMs;
    fromMs = untilMs;
    return begun === undefined || untilMs === undefined ? [] : [{ stage, fromMs: begun, untilMs }];
  });
}

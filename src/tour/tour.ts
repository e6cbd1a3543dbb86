import { createStepContext, type Step, type StepOutcome, type TourEvent } from "./model/step-context.ts";
import { startTourCluster, type TourCluster, type TourClusterOptions } from "./model/tour-cluster.ts";
import { imagePullProgress } from "./steps/image-pull-progress.ts";
import { invalidImageName } from "./steps/invalid-image-name.ts";
import { missingConfigMap } from "./steps/missing-config-map.ts";
import { slowStarter } from "./steps/slow-starter.ts";
import { stuckStatefulSet } from "./steps/stuck-stateful-set.ts";

export interface TourOptions extends Omit<TourClusterOptions, "signal" | "emit" | "pullSeconds"> {
  /** Steps to run, with their numbers in the whole tour. */
  readonly steps: readonly { readonly number: number; readonly step: Step }[];
  readonly of: number;
  readonly signal: AbortSignal;
  readonly paceMs: number;
  emit(event: TourEvent): void;
  /** Called before each step except the first. */
  pause(): Promise<void>;
}

/** Long enough to watch a pull, and for an event with its progress. */
const slowPullSeconds = 12;

/** Starts a temporary cluster, runs the steps in order and cleans up. */
export async function runTour(options: TourOptions): Promise<readonly StepOutcome[]> {
  const { clock, signal, emit } = options;
  const startedAt = clock.now();
  const outcomes: StepOutcome[] = [];
  const showsPull = options.steps.some(({ step }) => step.showsPull);
  const cluster = await startTourCluster({
    runtime: options.runtime,
    features: options.features,
    logger: options.logger,
    kubeletConfig: options.kubeletConfig,
    clock,
    signal,
    emit,
    pullSeconds: showsPull ? slowPullSeconds : 1,
  });
  try {
    for (const [i, { number, step }] of options.steps.entries()) {
      if (i > 0) await options.pause();
      signal.throwIfAborted();
      emit({ kind: "step", number, of: options.of, step });
      const outcome = await runStep(cluster, { number, step }, options);
      outcomes.push(outcome);
      emit({ kind: "stepDone", outcome });
    }
  } finally {
    emit({ kind: "cleaning" });
    await cluster.close();
  }
  emit({ kind: "end", outcomes, tookMs: clock.now() - startedAt });
  return outcomes;
}

async function runStep(
  { client, image }: TourCluster,
  { number, step }: { number: number; step: Step },
  { clock, signal, paceMs, emit }: TourOptions,
): Promise<StepOutcome> {
  const startedAt = clock.now();
  const outcome = (problem: string | undefined) => ({
    number,
    step,
    tookMs: clock.now() - startedAt,
    problem,
  });
  try {
    await step.run(createStepContext({ client, clock, image, signal, paceMs, emit }));
    return outcome(undefined);
  } catch (error) {
    signal.throwIfAborted();
    // An error of the cluster fails this step only.
    if (error instanceof Error) return outcome(error.message);
    throw error;
  }
}

/** Steps of the tour in order. */
export const steps: readonly Step[] = [
  imagePullProgress,
  missingConfigMap,
  invalidImageName,
  slowStarter,
  stuckStatefulSet,
];

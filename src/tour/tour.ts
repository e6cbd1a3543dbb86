import { createScene } from "./scene.ts";
import type { Step } from "./step.ts";
import type { StepOutcome, TourEvent } from "./tour-event.ts";
import { type GroundOptions, type OpenGround, openGround } from "./tour-ground.ts";

export interface TourOptions extends Omit<GroundOptions, "signal" | "tell" | "pullSeconds"> {
  /** With their numbers on the whole tour. */
  readonly steps: readonly { readonly number: number; readonly step: Step }[];
  readonly of: number;
  readonly signal: AbortSignal;
  readonly paceMs: number;
  tell(event: TourEvent): void;
  /** Before each step but the first. */
  pause(): Promise<void>;
}

/** Long enough to see a pull, and for a word about it in the pod's events. */
const slowPullSeconds = 12;

/** Starts a cluster of its own, shows the steps one after the other, and leaves nothing behind. */
export async function runTour(options: TourOptions): Promise<readonly StepOutcome[]> {
  const { clock, signal, tell } = options;
  const startedAt = clock.now();
  const outcomes: StepOutcome[] = [];
  const showsPull = options.steps.some(({ step }) => step.showsPull);
  const ground = await openGround({ ...options, pullSeconds: showsPull ? slowPullSeconds : 1 });
  try {
    for (const [i, { number, step }] of options.steps.entries()) {
      if (i > 0) await options.pause();
      signal.throwIfAborted();
      tell({ kind: "step", number, of: options.of, step });
      const outcome = await show(ground, { number, step }, options);
      outcomes.push(outcome);
      tell({ kind: "stepDone", outcome });
    }
  } finally {
    tell({ kind: "cleaning" });
    await ground.close();
  }
  tell({ kind: "end", outcomes, tookMs: clock.now() - startedAt });
  return outcomes;
}

async function show(
  { client, image }: OpenGround,
  { number, step }: { number: number; step: Step },
  { clock, signal, paceMs, tell }: TourOptions,
): Promise<StepOutcome> {
  const startedAt = clock.now();
  const outcome = (problem: string | undefined) => ({
    number,
    step,
    tookMs: clock.now() - startedAt,
    problem,
  });
  try {
    await step.run(createScene({ client, clock, image, signal, paceMs, tell }));
    return outcome(undefined);
  } catch (error) {
    signal.throwIfAborted();
    // A refusal by the cluster fails the step as well; the others are still worth seeing.
    if (error instanceof Error) return outcome(error.message);
    throw error;
  }
}

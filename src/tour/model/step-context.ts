import type { Pod, StatefulSet } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import type { Client } from "../../client/api/client.ts";
import { explainPod } from "../../explain/explain-pod.ts";
import type { Explanation, PodFacts } from "../../explain/explanation.ts";
import type { Clock } from "../../lib/clock.ts";
import { gatherFacts } from "../../monitor/feed/gather-facts.ts";
import type { TourImage } from "./make-image.ts";

/** Event of the tour, for the printer. */
export type TourEvent =
  | { readonly kind: "preparing"; readonly what: string }
  | {
      readonly kind: "cluster";
      readonly kubeconfig: string;
      readonly runtime: string;
      readonly simulated: boolean;
      readonly tookMs: number;
    }
  | { readonly kind: "step"; readonly number: number; readonly of: number; readonly step: StepInfo }
  /** Next action, with an equivalent command or part of a manifest. */
  | { readonly kind: "does"; readonly what: string; readonly command?: string; readonly manifest?: string }
  /** Current state of the pod, which replaces the previous one. */
  | { readonly kind: "state"; readonly state: PodState }
  /** The step has demonstrated something. */
  | { readonly kind: "shown"; readonly what: string }
  /** Commands that show the same behaviour. */
  | { readonly kind: "look"; readonly commands: readonly string[] }
  | { readonly kind: "stepDone"; readonly outcome: StepOutcome }
  | { readonly kind: "cleaning" }
  | { readonly kind: "end"; readonly outcomes: readonly StepOutcome[]; readonly tookMs: number };

export interface PodState {
  readonly facts: PodFacts;
  readonly explanation: Explanation;
}

export interface StepOutcome {
  readonly number: number;
  readonly step: StepInfo;
  readonly tookMs: number;
  /** Undefined on success. */
  readonly problem: string | undefined;
}

/** Description of a step. */
interface StepInfo {
  readonly title: string;
  /** Proposal that the step demonstrates. */
  readonly proposal: string;
  /** Purpose, in one or two sentences. */
  readonly about: string;
  /** Documentation page. */
  readonly page: string;
  /** Whether the step demonstrates image pulls. If no step does, the registry's rate is not limited. */
  readonly showsPull?: boolean;
}

interface StepContextOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly image: TourImage;
  readonly signal: AbortSignal;
  /** Time for which a reached state is shown before the tour continues. */
  readonly paceMs: number;
  emit(event: TourEvent): void;
}

/** Environment of a step. Everything is in the namespace `default`, which keeps commands short. */
export interface StepContext extends Pick<StepContextOptions, "client" | "image" | "signal" | "emit"> {
  /** Polls and shows the pod until the condition holds. Rejects with a StepFailure after a timeout. */
  untilPod(name: string, wanted: string, is: (facts: PodFacts) => boolean): Promise<PodFacts>;
  untilSet(name: string, wanted: string, is: (set: StatefulSet) => boolean): Promise<StatefulSet>;
  /** Shows the pod for this time. */
  showFor(name: string, ms: number): Promise<PodFacts>;
}

const namespace = "default";
const pollIntervalMs = 250;
/** Far more than any step needs, even on a busy machine. */
const timeoutMs = 180_000;

export function createStepContext({
  client,
  clock,
  image,
  signal,
  paceMs,
  emit,
}: StepContextOptions): StepContext {
  async function readPod(name: string): Promise<PodFacts | undefined> {
    try {
      const facts = await gatherFacts({ client, clock }, { namespace, name }, signal);
      emit({ kind: "state", state: { facts, explanation: explainPod(facts) } });
      return facts;
    } catch (error) {
      signal.throwIfAborted();
      // A pod that is being replaced is missing for a moment.
      if (error instanceof StatusError && error.reason === "NotFound") return undefined;
      throw error;
    }
  }

  async function until<T>(
    { wanted, subject }: { wanted: string; subject: string },
    read: () => Promise<T | undefined>,
    is: (found: T) => boolean,
  ): Promise<T> {
    const deadline = clock.now() + timeoutMs;
    for (;;) {
      const found = await read();
      if (found !== undefined && is(found)) return found;
      if (clock.now() > deadline) throw new StepFailure(`${subject} did not reach this state: ${wanted}`);
      await clock.sleep(pollIntervalMs, signal);
    }
  }

  async function showFor(name: string, ms: number): Promise<PodFacts> {
    const end = clock.now() + ms;
    return until(
      { wanted: "exists", subject: `pod ${name}` },
      () => readPod(name),
      () => clock.now() >= end,
    );
  }

  return {
    client,
    image,
    signal,
    emit,
    showFor,
    async untilPod(name, wanted, is) {
      const facts = await until({ wanted, subject: `pod ${name}` }, () => readPod(name), is);
      if (paceMs > 0) await showFor(name, paceMs);
      return facts;
    },
    untilSet: (name, wanted, is) =>
      until(
        { wanted, subject: `statefulset ${name}` },
        () => client.get("statefulsets", { namespace, name }, { signal }),
        is,
      ),
  };
}

export function restartsOf({ status }: Pod): number {
  return (status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
}

/** One step of the tour. */
export interface Step extends StepInfo {
  /** Rejects with a StepFailure if the expected behaviour does not occur. */
  run(context: StepContext): Promise<void>;
}

/** A step ran but did not show the expected behaviour. */
export class StepFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = "StepFailure";
  }
}

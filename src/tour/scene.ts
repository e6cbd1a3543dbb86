import type { Pod, StatefulSet } from "../api/objects.ts";
import { StatusError } from "../api/status-error.ts";
import type { Client } from "../client/client.ts";
import type { Clock } from "../lib/clock.ts";
import { explainPod } from "../monitor/explain/explain-pod.ts";
import type { PodFacts } from "../monitor/explain/explanation.ts";
import { gatherFacts } from "../monitor/explain/gather-facts.ts";
import { StepFailure } from "./step-failure.ts";
import type { TourEvent } from "./tour-event.ts";
import type { TourImage } from "./tour-image.ts";

export interface SceneOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly image: TourImage;
  readonly signal: AbortSignal;
  /** How long a state that was waited for stays before the tour goes on, so that people can read it. */
  readonly paceMs: number;
  tell(event: TourEvent): void;
}

/** What a step acts with. Everything is in the namespace `default`: commands are short there. */
export interface Scene extends Pick<SceneOptions, "client" | "image" | "signal" | "tell"> {
  /** Looks again and again, and shows what it sees, until the pod is so; fails when it takes too long. */
  untilPod(name: string, wanted: string, is: (facts: PodFacts) => boolean): Promise<PodFacts>;
  untilSet(name: string, wanted: string, is: (set: StatefulSet) => boolean): Promise<StatefulSet>;
  /** Shows a pod for so long, so that people can see that nothing happens. */
  linger(name: string, ms: number): Promise<PodFacts>;
}

const namespace = "default";
const lookAgainMs = 250;
/** Far more than any step needs, also on a busy machine. */
const patienceMs = 180_000;

export function createScene({ client, clock, image, signal, paceMs, tell }: SceneOptions): Scene {
  async function lookAt(name: string): Promise<PodFacts | undefined> {
    try {
      const facts = await gatherFacts({ client, clock }, { namespace, name }, signal);
      tell({ kind: "state", state: { facts, explanation: explainPod(facts) } });
      return facts;
    } catch (error) {
      signal.throwIfAborted();
      // A pod that is replaced is away for a moment.
      if (error instanceof StatusError && error.reason === "NotFound") return undefined;
      throw error;
    }
  }

  async function until<T>(
    { wanted, subject }: { wanted: string; subject: string },
    look: () => Promise<T | undefined>,
    is: (found: T) => boolean,
  ): Promise<T> {
    const deadline = clock.now() + patienceMs;
    for (;;) {
      const found = await look();
      if (found !== undefined && is(found)) return found;
      if (clock.now() > deadline) throw new StepFailure(`${subject} did not come to this: ${wanted}`);
      await clock.sleep(lookAgainMs, signal);
    }
  }

  async function linger(name: string, ms: number): Promise<PodFacts> {
    const end = clock.now() + ms;
    return until(
      { wanted: "to be there", subject: `pod ${name}` },
      () => lookAt(name),
      () => clock.now() >= end,
    );
  }

  return {
    client,
    image,
    signal,
    tell,
    linger,
    async untilPod(name, wanted, is) {
      const facts = await until({ wanted, subject: `pod ${name}` }, () => lookAt(name), is);
      if (paceMs > 0) await linger(name, paceMs);
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

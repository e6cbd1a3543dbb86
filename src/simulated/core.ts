import { status } from "@grpc/grpc-js";
import type { ContainerEventResponse } from "../cri/generated/cri.ts";
import type { Clock } from "../lib/clock.ts";
import { createEventHub, type EventHub } from "../lib/event-hub.ts";
import { type Agenda, createAgenda } from "./agenda.ts";
import { failure } from "./failure.ts";
import type { PullPlan } from "./image/pull-plan.ts";
import type { RuleBook } from "./script/rules.ts";
import { createSharing, type Sharing } from "./sharing.ts";
import type { SimulatedState } from "./state.ts";

/** What every call works on. */
export interface SimulatedCore extends CoreParts {
  readonly events: EventHub<ContainerEventResponse>;
  readonly agenda: Agenda;
  readonly sharing: Sharing;
  /** By container id: what cancels its planned exit. */
  readonly planned: Map<string, () => void>;
  /** By container id: who waits for its end. */
  readonly waiting: Map<string, Set<() => void>>;
  /** Ids of containers whose start takes its time. */
  readonly starting: Set<string>;
  /** By image id: the pulls under way. Whoever joins one gets the rest of it. */
  readonly pulls: Map<string, SharedPull>;
}

export interface SharedPull {
  readonly plan: PullPlan;
  readonly beganAt: number;
  followers: number;
}

export interface CoreParts {
  readonly state: SimulatedState;
  readonly rules: RuleBook;
  readonly clock: Clock;
  /** The runtime handlers that there are. */
  readonly handlers: Set<string>;
  /** Whether images are here without a pull, but for those that a rule has a pull for. */
  readonly imagesPresent: boolean;
}

/** Of one subscriber: a burst of thousands of pods fits. */
const mostPendingEvents = 20_000;

export function createCore(parts: CoreParts): SimulatedCore {
  return {
    ...parts,
    events: createEventHub({
      capacity: mostPendingEvents,
      overflow: () =>
        failure(status.RESOURCE_EXHAUSTED, `more than ${mostPendingEvents} events were waiting to be read`),
    }),
    agenda: createAgenda(parts.clock),
    sharing: createSharing(),
    planned: new Map(),
    waiting: new Map(),
    starting: new Set(),
    pulls: new Map(),
  };
}

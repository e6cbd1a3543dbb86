import type { Features } from "../../api/feature-gates.ts";
import type { KubeObject } from "../../api/objects.ts";
import type { Resource } from "../../api/resources.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Admit } from "../admission/admit.ts";
import type { Registry } from "../registry/registry.ts";
import type { Strategy, StrategyContext } from "../strategy/strategy.ts";

/** What every verb that writes needs. */
export interface WriteDeps {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly features: Features;
  readonly admit: Admit;
  strategyFor(resource: Resource): Strategy;
  /** What else comes into being with an object of its kind. */
  companions(object: KubeObject): readonly KubeObject[];
}

export function strategyContext(deps: Pick<WriteDeps, "features" | "clock">): StrategyContext {
  return { features: deps.features, now: deps.clock.now() };
}

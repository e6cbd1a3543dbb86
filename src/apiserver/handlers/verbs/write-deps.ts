import type { KindDefinition } from "../../../api/kinds/kind-definition.ts";
import type { StrategyContext } from "../../../api/kinds/strategy.ts";
import type { Features } from "../../../api/meta/feature-gates.ts";
import type { Resource } from "../../../api/meta/resource.ts";
import { pathNotFound } from "../../../api/meta/status-error.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { AdmissionChain } from "../../admission/admission-chain.ts";
import type { KindRegistry } from "../../kinds/kind-registry.ts";
import type { ObjectStore } from "../../storage/object-store.ts";

/** Dependencies of every verb that writes. */
export interface WriteDeps {
  readonly objectStore: ObjectStore;
  readonly kinds: KindRegistry;
  readonly clock: Clock;
  readonly features: Features;
  readonly admission: AdmissionChain;
  /** PEM. Published in every namespace, so that pods can verify the API server. */
  readonly rootCa: string;
  /** Warning for writes of NetworkPolicies, if nothing in the cluster enforces them. */
  readonly networkPolicyWarning?: () => string | undefined;
}

/** Throws 404 when the kind was removed while the request was handled. */
export function definitionOf({ kinds }: Pick<WriteDeps, "kinds">, resource: Resource): KindDefinition {
  const definition = kinds.find(resource);
  if (!definition) throw pathNotFound();
  return definition;
}

export function strategyContext(
  deps: Pick<WriteDeps, "features" | "clock" | "networkPolicyWarning">,
): StrategyContext {
  const { features, clock, networkPolicyWarning } = deps;
  return { features, now: clock.now(), networkPolicyWarning: networkPolicyWarning?.() };
}

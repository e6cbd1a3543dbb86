import type { Features } from "../../api/feature-gates.ts";
import type { StatefulSet } from "../../api/objects.ts";

/** Why a set is left alone: it has a strategy that is switched off here, or that nobody knows. */
export function switchedOff({ metadata, spec }: StatefulSet, features: Features): string | undefined {
  const { type = "RollingUpdate" } = spec?.updateStrategy ?? {};
  const gate = "EnforcedRollingUpdateInStatefulSet";
  const set = `statefulset ${metadata.namespace}/${metadata.name}`;
  if (type === "EnforcedRollingUpdate") {
    return features[gate] ? undefined : `${set} uses ${type} strategy but feature gate ${gate} is disabled`;
  }
  if (type === "RollingUpdate" || type === "OnDelete") return undefined;
  return `${set} uses ${type} strategy, which this controller does not know`;
}

import type { Features } from "../../api/feature-gates.ts";
import type { StatefulSet } from "../../api/objects.ts";

const gates = {
  EnforcedRollingUpdate: "EnforcedRollingUpdateInStatefulSet",
  Recreate: "StatefulSetRecreateStrategy",
} as const satisfies Record<string, keyof Features>;

/** Why a set is left alone: it has a strategy that is switched off here, or that nobody knows. */
export function switchedOff({ metadata, spec }: StatefulSet, features: Features): string | undefined {
  const { type = "RollingUpdate" } = spec?.updateStrategy ?? {};
  const set = `statefulset ${metadata.namespace}/${metadata.name}`;
  switch (type) {
    case "RollingUpdate":
    case "OnDelete":
      return undefined;
    case "EnforcedRollingUpdate":
    case "Recreate": {
      const gate = gates[type];
      return features[gate] ? undefined : `${set} uses ${type} strategy but feature gate ${gate} is disabled`;
    }
    default:
      return `${set} uses ${type} strategy, which this controller does not know`;
  }
}

/** Component that reads a feature gate. */
type Component = "apiserver" | "controller-manager" | "kubelet";

export interface FeatureGate {
  readonly name: string;
  readonly alias?: string;
  readonly stage: "alpha" | "beta" | "stable";
  readonly default: boolean;
  readonly components: readonly Component[];
  readonly summary: string;
}

export const featureGates = [
  {
    name: "PodReadyToStartContainersCondition",
    stage: "beta",
    default: true,
    components: ["kubelet"],
    summary: "KEP-3085: a pod condition that is true when the sandbox, network and volumes are ready",
  },
  {
    name: "PodFailingToStartCondition",
    stage: "alpha",
    default: true,
    components: ["kubelet"],
    summary: "KEP-3815: a pod condition for containers that cannot start without a change",
  },
  {
    name: "ImagePullProgress",
    stage: "alpha",
    default: true,
    components: ["kubelet"],
    summary: "KEP-3542: image pulls with progress and a no-progress timeout",
  },
  {
    name: "StartupProbeEnabled",
    alias: "StartupProbe",
    stage: "stable",
    default: true,
    components: ["apiserver", "kubelet"],
    summary: "KEP-950: startupProbe delays liveness and readiness probes until a container has started",
  },
  {
    name: "EnforcedRollingUpdateInStatefulSet",
    stage: "alpha",
    default: true,
    components: ["apiserver", "controller-manager"],
    summary: "KEP-3541: a StatefulSet update strategy that replaces broken pods instead of waiting for them",
  },
  {
    name: "StatefulSetRecreateStrategy",
    stage: "alpha",
    default: false,
    components: ["apiserver", "controller-manager"],
    summary:
      "the StatefulSet update strategy Recreate, which deletes all old pods before it creates new ones",
  },
] as const satisfies readonly FeatureGate[];

type FeatureName = (typeof featureGates)[number]["name"];
export type Features = Readonly<Record<FeatureName, boolean>>;

export const defaultFeatures = Object.fromEntries(
  featureGates.map((gate) => [gate.name, gate.default]),
) as Features;

export class FeatureGateError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "FeatureGateError";
  }
}

/** Parses `Name=true,Other=false`. Gates that the text does not contain keep their value in `base`. */
export function parseFeatureGates(text: string, base: Features = defaultFeatures): Features {
  const features = { ...base };
  for (const setting of text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean)) {
    const [name = "", value, ...rest] = setting.split("=").map((part) => part.trim());
    if ((value !== "true" && value !== "false") || rest.length > 0) {
      throw new FeatureGateError(`feature gate ${JSON.stringify(setting)} must be Name=true or Name=false`);
    }
    features[findGate(name)] = value === "true";
  }
  return features;
}

function findGate(name: string): FeatureName {
  const gate = featureGates.find((gate) => gate.name === name || ("alias" in gate && gate.alias === name));
  if (!gate) {
    const known = featureGates.map((gate) => gate.name).join(", ");
    throw new FeatureGateError(`unknown feature gate ${JSON.stringify(name)}; known feature gates: ${known}`);
  }
  return gate.name;
}

import type { PodTemplate } from "../../api/defaults/pod-template.ts";
import type { Features } from "../../api/feature-gates.ts";
import type { PodSpec } from "../../api/objects.ts";
import { containersOf } from "../../api/pod-containers.ts";

/**
 * Takes away what a switched-off gate does not allow, silently, as upstream does. A stored object that already
 * uses the field keeps it: turning a gate off must not break what runs.
 */
export function dropGatedPodFields(
  next: PodSpec | undefined,
  current: PodSpec | undefined,
  features: Features,
): void {
  if (!features.StartupProbeEnabled && !usesStartupProbe(current)) {
    for (const container of containersOf(next)) delete container.startupProbe;
  }
}

export function dropGatedTemplateFields(
  next: { spec?: { template?: PodTemplate } },
  current: { spec?: { template?: PodTemplate } } | undefined,
  features: Features,
): void {
  dropGatedPodFields(next.spec?.template?.spec, current?.spec?.template?.spec, features);
}

function usesStartupProbe(spec: PodSpec | undefined): boolean {
  return containersOf(spec).some((container) => container.startupProbe !== undefined);
}

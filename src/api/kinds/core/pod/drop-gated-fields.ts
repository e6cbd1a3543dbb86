// Clauses: 950-8
import type { Features } from "../../../meta/feature-gates.ts";
import type { PodSpec } from "../../../meta/objects.ts";
import type { PodTemplate } from "../../../pod/defaults/pod.ts";
import { containersOf } from "../../../pod/pod-containers.ts";

/**
 * Removes fields of disabled feature gates silently, like upstream. A stored object that already uses a field keeps it,
 * so that disabling a gate does not break running pods.
 */
export function dropGatedPodFields(
  next: PodSpec | undefined,
  current: PodSpec | undefined,
  features: Features,
): void {
  if (!features.StartupProbeEnabled && !usesStartupProbe(current)) {
    for (const container of containersOf(next)) delete container.startupProbe;
  }
  if (!usesStopSignal(current)) dropStopSignals(next);
  if (!usesLaterSources(current)) dropLaterSources(next);
}

/** Removes stop signals and the volume sources below, whose gates are disabled by default in 1.36. */
function dropStopSignals(spec: PodSpec | undefined): void {
  for (const container of containersOf(spec)) {
    if (!container.lifecycle?.stopSignal) continue;
    delete container.lifecycle.stopSignal;
    if (Object.keys(container.lifecycle).length === 0) delete container.lifecycle;
  }
}

function usesStopSignal(spec: PodSpec | undefined): boolean {
  return containersOf(spec).some(({ lifecycle }) => lifecycle?.stopSignal !== undefined);
}

function dropLaterSources(spec: PodSpec | undefined): void {
  for (const source of projectedSources(spec)) {
    delete source.clusterTrustBundle;
    delete source.podCertificate;
  }
}

function usesLaterSources(spec: PodSpec | undefined): boolean {
  return projectedSources(spec).some((source) => source.clusterTrustBundle ?? source.podCertificate);
}

function projectedSources(spec: PodSpec | undefined) {
  return spec?.volumes?.flatMap(({ projected }) => projected?.sources ?? []) ?? [];
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

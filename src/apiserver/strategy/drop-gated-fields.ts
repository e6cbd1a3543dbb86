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
  if (!usesStopSignal(current)) dropStopSignals(next);
  if (!usesLaterSources(current)) dropLaterSources(next);
}

/** Upstream knows it and has not switched it on in 1.36; the same holds for the sources below. */
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

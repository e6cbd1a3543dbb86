import type * as k8s from "@kubernetes/client-node";
import type { Wire } from "../objects.ts";

/** What is allowed and yet ignored, or on its way out. */
export function serviceWarnings({ metadata, spec = {} }: Wire<k8s.V1Service>): string[] {
  const warnings: string[] = [];
  const hints = "service.kubernetes.io/topology-aware-hints";
  if (metadata?.annotations?.[hints] !== undefined) {
    const mode = "service.kubernetes.io/topology-mode";
    warnings.push(`annotation ${hints} is deprecated, please use ${mode} instead`);
  }
  const external = (spec.externalIPs?.length ?? 0) > 0;
  const isName = spec.type === "ExternalName";
  if (spec.clusterIP === "None") {
    const ignore = (field: string) => warnings.push(`spec.${field} is ignored for headless services`);
    if (spec.loadBalancerIP) ignore("loadBalancerIP");
    if (external) ignore("externalIPs");
    if (spec.sessionAffinity !== "None") ignore("SessionAffinity");
  } else if (external && !isName) {
    warnings.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
  }
  if (isName && external) warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  if (!isName && spec.externalName)
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  if (spec.trafficDistribution === "PreferClose")
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  return warnings;
}

import type * as k8s from "@kubernetes/client-node";
import type { Service, Wire } from "../../../meta/objects.ts";
import { ageColumn, type Column, column, formatLabels, nameColumn, wideColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, type Strategy } from "../../strategy.ts";
import {
  defaultService,
  dropOtherTypesFields,
  keepAllocatedValues,
  normalizeClusterIPs,
} from "./addresses.ts";
import { validateService, validateServiceStatusUpdate, validateServiceUpdate } from "./validation.ts";

const serviceColumns: readonly Column<Service>[] = [
  nameColumn,
  column("Type", "How the service is exposed", ({ spec }) => spec?.type ?? ""),
  column("Cluster-IP", "Address inside the cluster", ({ spec }) => spec?.clusterIPs?.[0] ?? "<none>"),
  column("External-IP", "Addresses outside the cluster", externalAddresses),
  column(
    "Port(s)",
    "Ports, node ports and protocols",
    ({ spec }) => (spec?.ports ?? []).map(formatPort).join(",") || "<none>",
  ),
  ageColumn,
  wideColumn("Selector", "Labels of the pods behind the service", ({ spec }) => formatLabels(spec?.selector)),
];

function externalAddresses({ spec, status }: Service): string {
  const external = spec?.externalIPs ?? [];
  switch (spec?.type) {
    case "ClusterIP":
    case "NodePort":
      return external.join(",") || "<none>";
    case "LoadBalancer": {
      const balancers = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip || hostname || "");
      const distinct = [...new Set(balancers.filter(Boolean))].sort();
      return [...distinct, ...external].join(",") || "<pending>";
    }
    case "ExternalName":
      return spec.externalName ?? "";
    default:
      return "<unknown>";
  }
}

function formatPort(servicePort: { port: number; nodePort?: number; protocol?: string }): string {
  const { port, nodePort, protocol = "" } = servicePort;
  return nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`;
}

/** Warnings about ignored and deprecated fields. */
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

const strategy: Strategy<Service> = {
  returnsDeletedObject: true,
  nameRule: "dnsLabel",
  allowCreateOnUpdate: true,

  applyDefaults: defaultService,

  prepareForCreate(next) {
    next.status = { loadBalancer: {} };
    next.spec ??= {};
    normalizeClusterIPs(next.spec, undefined);
  },

  prepareForUpdate(next, current) {
    next.spec ??= {};
    const { spec } = next;
    const before = current.spec ?? {};
    keepAllocatedValues(spec, before);
    normalizeClusterIPs(spec, before);
    keepField(next, current, "status");
    dropOtherTypesFields(spec, before);
    if (spec.type !== "LoadBalancer") next.status = { ...next.status, loadBalancer: {} };
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
  },

  validate: (next) => validateService(next),
  validateUpdate: validateServiceUpdate,
  validateStatusUpdate: validateServiceStatusUpdate,

  warnings: serviceWarnings,

  selectableFields: {
    "spec.clusterIP": ({ spec }) => spec?.clusterIP ?? "",
    "spec.type": ({ spec }) => spec?.type ?? "",
  },
};

export const serviceKind = defineKind<Service>({
  resource: {
    group: "",
    version: "v1",
    plural: "services",
    kind: "Service",
    shortNames: ["svc"],
    categories: ["all"],
  },
  subresources: ["status", "proxy"],
  strategy,
  columns: serviceColumns,
});

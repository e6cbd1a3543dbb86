import type { EndpointSlice, Endpoints, Service } from "../../api/objects.ts";
import { formatLabels } from "./format-selector.ts";
import { ageColumn, column, nameColumn, type TableLayout, wideColumn } from "./table-layout.ts";

export const serviceTable: TableLayout<Service> = {
  columns: [
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
    wideColumn("Selector", "Labels of the pods behind the service", ({ spec }) =>
      formatLabels(spec?.selector),
    ),
  ],
};

export const endpointsTable: TableLayout<Endpoints> = {
  columns: [
    nameColumn,
    column("Endpoints", "Addresses and ports behind the service", ({ subsets = [] }) =>
      subsets.length === 0 ? "<none>" : firstThree(subsets.flatMap(subsetAddresses)),
    ),
    ageColumn,
  ],
};

export const endpointSliceTable: TableLayout<EndpointSlice> = {
  columns: [
    nameColumn,
    column("AddressType", "Kind of the addresses", ({ addressType }) => addressType ?? ""),
    column(
      "Ports",
      "Ports of every endpoint",
      ({ ports }) => firstThree((ports ?? []).map(({ port, name }) => `${port ?? name ?? "*"}`)) || "<unset>",
    ),
    column(
      "Endpoints",
      "Addresses of the endpoints",
      ({ endpoints }) => firstThree((endpoints ?? []).flatMap(({ addresses }) => addresses)) || "<unset>",
    ),
    ageColumn,
  ],
};

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

/** Every address with every port; a headless service may have none of the latter. */
function subsetAddresses({
  addresses = [],
  ports = [],
}: NonNullable<Endpoints["subsets"]>[number]): string[] {
  if (ports.length === 0) return addresses.map(({ ip }) => ip);
  return ports.flatMap(({ port }) =>
    addresses.map(({ ip }) => (ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`)),
  );
}

function firstThree(items: readonly string[]): string {
  const shown = items.slice(0, 3).join(",");
  return items.length > 3 ? `${shown} + ${items.length - 3} more...` : shown;
}

import { isIPv6 } from "node:net";
import type { Service } from "../../api/objects.ts";

export type Variables = Map<string, string>;

/** What containers are told of services by their environment: where each is, in two old notations. */
export function serviceVariables(services: Iterable<Service>): Variables {
  const variables: Variables = new Map();
  for (const service of services) {
    for (const [name, value] of variablesOf(service)) variables.set(name, value);
  }
  return variables;
}

function variablesOf(service: Service): [name: string, value: string][] {
  const { clusterIP = "", ports = [] } = service.spec ?? {};
  const [first] = ports;
  if (clusterIP === "" || clusterIP === "None" || !first) return [];
  const prefix = variableName(service.metadata.name ?? "");
  const host = isIPv6(clusterIP) ? `[${clusterIP}]` : clusterIP;
  return [
    [`${prefix}_SERVICE_HOST`, clusterIP],
    [`${prefix}_SERVICE_PORT`, String(first.port)],
    ...ports.flatMap(({ name, port }): [string, string][] =>
      name ? [[`${prefix}_SERVICE_PORT_${variableName(name)}`, String(port)]] : [],
    ),
    [`${prefix}_PORT`, `${protocolOf(first)}://${host}:${first.port}`],
    ...ports.flatMap((port): [string, string][] => {
      const protocol = protocolOf(port);
      const portPrefix = `${prefix}_PORT_${port.port}_${protocol.toUpperCase()}`;
      return [
        [portPrefix, `${protocol}://${host}:${port.port}`],
        [`${portPrefix}_PROTO`, protocol],
        [`${portPrefix}_PORT`, String(port.port)],
        [`${portPrefix}_ADDR`, clusterIP],
      ];
    }),
  ];
}

function protocolOf({ protocol }: { protocol?: string }): string {
  return (protocol || "TCP").toLowerCase();
}

function variableName(name: string): string {
  return name.replaceAll("-", "_").toUpperCase();
}

import type { PortMapping } from "../network.ts";
import { parseAddress } from "./ipv4.ts";

/** Why these host ports cannot be mapped; undefined when they can. */
export function findPortProblem(
  wanted: readonly PortMapping[],
  others: readonly { readonly podId: string; readonly portMappings: readonly PortMapping[] }[],
): string | undefined {
  for (const port of wanted) {
    const name = `host port ${port.hostPort}/${port.protocol}`;
    if (!isEverywhere(port) && parseAddress(port.hostIp) === undefined)
      return `${name} is wanted at ${JSON.stringify(port.hostIp)}, which is no IPv4 address`;
    if (![port.hostPort, port.containerPort].every(isPort))
      return `${name} to ${port.containerPort} is not from port to port`;
    // Two rules for one port would leave one pod without, silently.
    const other = others.find(({ portMappings }) => portMappings.some((taken) => samePort(port, taken)));
    if (other) return `${name} is taken by pod ${other.podId}`;
  }
  return undefined;
}

export function isEverywhere({ hostIp }: PortMapping): boolean {
  return hostIp === "" || hostIp === "0.0.0.0" || hostIp === "::";
}

function samePort(a: PortMapping, b: PortMapping): boolean {
  if (a.protocol !== b.protocol || a.hostPort !== b.hostPort) return false;
  return isEverywhere(a) || isEverywhere(b) || a.hostIp === b.hostIp;
}

function isPort(value: number): boolean {
  return Number.isInteger(value) && value > 0 && value < 65_536;
}

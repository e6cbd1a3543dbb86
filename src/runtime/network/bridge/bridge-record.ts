import type { PortMapping } from "../network.ts";

/** What the bridge keeps of a pod. Written before anything is made for it, so that nothing is made unknown. */
export interface BridgeRecord {
  readonly state: "attaching" | "attached";
  readonly address: string;
  readonly namespacePath: string;
  readonly portMappings: readonly PortMapping[];
}

export function parseBridgeRecord(value: unknown): BridgeRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { state, address, namespacePath, portMappings } = value as Record<string, unknown>;
  if (state !== "attaching" && state !== "attached") return undefined;
  if (typeof address !== "string" || typeof namespacePath !== "string") return undefined;
  if (!Array.isArray(portMappings)) return undefined;
  return { state, address, namespacePath, portMappings };
}

/** The ports of ours that somebody else's pod has; two rules for one port would leave one pod without. */
export function findPortConflict(
  wanted: readonly PortMapping[],
  others: readonly { podId: string; portMappings: readonly PortMapping[] }[],
): { port: PortMapping; podId: string } | undefined {
  for (const port of wanted) {
    const other = others.find(({ portMappings }) => portMappings.some((taken) => samePort(port, taken)));
    if (other) return { port, podId: other.podId };
  }
  return undefined;
}

function samePort(a: PortMapping, b: PortMapping): boolean {
  const everywhere = [a, b].some(({ hostIp }) => hostIp === "" || hostIp === "0.0.0.0");
  return a.protocol === b.protocol && a.hostPort === b.hostPort && (everywhere || a.hostIp === b.hostIp);
}

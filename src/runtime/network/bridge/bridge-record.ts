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

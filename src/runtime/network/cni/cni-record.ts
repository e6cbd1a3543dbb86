import { isMapping } from "../../../lib/is-mapping.ts";
import { type CniConfig, parseCniConfig } from "./cni-config.ts";
import type { CniResult } from "./cni-result.ts";

/**
 * What DEL needs, whatever has happened since: the configuration as it was, and what the plugins answered. Written
 * before the first plugin runs.
 */
export interface CniRecord {
  readonly config: CniConfig;
  readonly namespacePath: string;
  readonly args: string;
  readonly capabilityArgs: Readonly<Record<string, unknown>>;
  /** Missing while, or when, not all plugins have answered. */
  readonly result?: CniResult;
}

export function parseCniRecord(value: unknown): CniRecord | undefined {
  if (!isMapping(value)) return undefined;
  const { namespacePath, args, capabilityArgs, result } = value;
  if (typeof namespacePath !== "string" || typeof args !== "string" || !isMapping(capabilityArgs))
    return undefined;
  const config = parseCniConfig(JSON.stringify(value.config), "of a record");
  return { config, namespacePath, args, capabilityArgs, ...(isMapping(result) ? { result } : {}) };
}

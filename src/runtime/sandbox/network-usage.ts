import type { NetworkInterfaceUsage, NetworkUsage } from "../../cri/generated/cri.ts";
import { toNanos } from "../../cri/nanos.ts";
import { value } from "../message/stats-message.ts";

/** What went over a pod's interfaces, from its /proc/PID/net/dev. Pure. */
export function parseNetworkUsage(text: string, now: number): NetworkUsage {
  const interfaces = text
    .split("\n")
    .slice(2)
    .map(parseLine)
    .filter((usage) => usage !== undefined)
    .filter(({ name }) => name !== "lo");
  const defaultInterface = interfaces.find(({ name }) => name === "eth0") ?? interfaces[0];
  return {
    timestamp: toNanos(now),
    defaultInterface,
    interfaces: interfaces.filter((usage) => usage !== defaultInterface),
  };
}

function parseLine(line: string): NetworkInterfaceUsage | undefined {
  const [name, counters = ""] = line.split(":");
  const fields = counters.trim().split(/\s+/).map(Number);
  const [rxBytes = 0, , rxErrors = 0, , , , , , txBytes = 0, , txErrors = 0] = fields;
  if (!name || fields.length < 11) return undefined;
  return {
    name: name.trim(),
    rxBytes: value(rxBytes),
    rxErrors: value(rxErrors),
    txBytes: value(txBytes),
    txErrors: value(txErrors),
  };
}

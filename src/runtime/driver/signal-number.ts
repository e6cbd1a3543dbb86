import { constants } from "node:os";
import { DriverError } from "./driver-error.ts";

/** Real-time signals have no names in Node; glibc keeps the first two of the kernel's for itself. */
const firstRealTime = 34;
const lastRealTime = 64;

/** "SIGTERM", "term", "15", "SIGRTMIN+3" and "RTMAX-1", as images write their stop signals. */
export function signalNumber(name: string): number {
  const upper = name.trim().toUpperCase();
  const number = /^\d+$/.test(upper) ? Number(upper) : named(upper.startsWith("SIG") ? upper : `SIG${upper}`);
  if (number === undefined || number < 1 || number > lastRealTime) {
    throw new DriverError("invalid", `"${name}" is not a signal`);
  }
  return number;
}

function named(name: string): number | undefined {
  const known: Record<string, number> = constants.signals;
  const realTime = /^SIGRT(MIN|MAX)(?:([+-])(\d+))?$/.exec(name);
  if (!realTime) return known[name];
  const offset = Number(realTime[3] ?? 0) * (realTime[2] === "-" ? -1 : 1);
  return (realTime[1] === "MIN" ? firstRealTime : lastRealTime) + offset;
}

import { DriverError, type SecurityOptions } from "./driver.ts";

/** Capabilities in the kernel's order: the index is the bit. */
export const allCapabilities = [
  "CHOWN",
  "DAC_OVERRIDE",
  "DAC_READ_SEARCH",
  "FOWNER",
  "FSETID",
  "KILL",
  "SETGID",
  "SETUID",
  "SETPCAP",
  "LINUX_IMMUTABLE",
  "NET_BIND_SERVICE",
  "NET_BROADCAST",
  "NET_ADMIN",
  "NET_RAW",
  "IPC_LOCK",
  "IPC_OWNER",
  "SYS_MODULE",
  "SYS_RAWIO",
  "SYS_CHROOT",
  "SYS_PTRACE",
  "SYS_PACCT",
  "SYS_ADMIN",
  "SYS_BOOT",
  "SYS_NICE",
  "SYS_RESOURCE",
  "SYS_TIME",
  "SYS_TTY_CONFIG",
  "MKNOD",
  "LEASE",
  "AUDIT_WRITE",
  "AUDIT_CONTROL",
  "SETFCAP",
  "MAC_OVERRIDE",
  "MAC_ADMIN",
  "SYSLOG",
  "WAKE_ALARM",
  "BLOCK_SUSPEND",
  "AUDIT_READ",
  "PERFMON",
  "BPF",
  "CHECKPOINT_RESTORE",
] as const;

/** Capabilities of a container that requests nothing: the set of every other runtime. */
const defaultCapabilities = [
  "CHOWN",
  "DAC_OVERRIDE",
  "FSETID",
  "FOWNER",
  "MKNOD",
  "NET_RAW",
  "SETGID",
  "SETUID",
  "SETFCAP",
  "SETPCAP",
  "NET_BIND_SERVICE",
  "SYS_CHROOT",
  "KILL",
  "AUDIT_WRITE",
];

/** Capabilities of a bit mask in the format of /proc/self/status. */
export function capabilitiesOfMask(hex: string): string[] {
  const mask = BigInt(`0x${hex.trim()}`);
  return allCapabilities.filter((_, bit) => (mask & (1n << BigInt(bit))) !== 0n);
}

/**
 * Decides a container's capabilities, without the CAP_ prefix. `ALL` is applied first, so that `drop: [ALL], add:
 * [CHOWN]` leaves one and `add: [ALL], drop: [CHOWN]` leaves all but one. Capabilities that the daemon lacks are
 * omitted.
 */
export function decideCapabilities(
  security: Pick<SecurityOptions, "privileged" | "capabilities">,
  available: readonly string[],
): string[] {
  if (security.privileged) return [...available];
  const add = security.capabilities.add.map(normalize);
  const drop = security.capabilities.drop.map(normalize);
  let granted = new Set<string>(defaultCapabilities);
  if (add.includes("ALL")) granted = new Set(allCapabilities);
  if (drop.includes("ALL")) granted = new Set();
  for (const name of add) if (name !== "ALL") granted.add(name);
  for (const name of drop) granted.delete(name);
  return allCapabilities.filter((name) => granted.has(name) && available.includes(name));
}

function normalize(name: string): string {
  const short = name.toUpperCase().replace(/^CAP_/, "");
  const known: readonly string[] = allCapabilities;
  if (short !== "ALL" && !known.includes(short)) {
    throw new DriverError("invalid", `unknown capability "${name}"`);
  }
  return short;
}

import type { Pod } from "../../api/objects.ts";

/** Kernel settings that a pod may change: of its own namespaces, and without harm to anybody else on the node. */
const safe = new Set([
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ping_group_range",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_notsent_lowat",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_slow_start_after_idle",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.tcp_wmem",
]);

/** Why a pod's kernel settings are not let through, in upstream's words; `allowed` may end in `*`. */
export function forbidSysctl({ spec }: Pod, allowed: readonly string[]): string | undefined {
  for (const { name: written } of spec?.securityContext?.sysctls ?? []) {
    // Both spellings are the kernel's: kernel.sem and kernel/sem.
    const name = written.replaceAll("/", ".");
    const quoted = JSON.stringify(name);
    if (!safe.has(name) && !allowed.some((pattern) => matches(pattern, name))) {
      return `forbidden sysctl: ${quoted} not allowlisted`;
    }
    const namespace = namespaceOf(name);
    const shared = namespace === "net" ? spec?.hostNetwork : spec?.hostIPC;
    if (shared) return `forbidden sysctl: ${quoted} not allowed with host ${namespace} enabled`;
  }
  return undefined;
}

/** Whether a setting belongs to a namespace that pods have, and may be allowed at all. */
export function isNamespaced(pattern: string): boolean {
  return namespaceOf(pattern) !== undefined;
}

function namespaceOf(name: string): "ipc" | "net" | undefined {
  if (name.startsWith("net.")) return "net";
  return /^(kernel\.(sem|shm|msg)|fs\.mqueue\.)/.test(name) ? "ipc" : undefined;
}

function matches(pattern: string, name: string): boolean {
  const plain = pattern.replaceAll("/", ".");
  return plain.endsWith("*") ? name.startsWith(plain.slice(0, -1)) : name === plain;
}

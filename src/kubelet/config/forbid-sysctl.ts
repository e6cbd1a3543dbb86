import type { Pod } from "../../api/meta/objects.ts";

/** Sysctls that every pod may set: they are namespaced and isolated from other pods. */
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

/** Reason why a pod's sysctls are forbidden, with upstream's message. Entries of `allowed` may end in `*`. */
export function forbidSysctl({ spec }: Pod, allowed: readonly string[]): string | undefined {
  for (const { name: written } of spec?.securityContext?.sysctls ?? []) {
    // The kernel accepts both spellings: kernel.sem and kernel/sem.
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

/** Whether the sysctl belongs to a namespace of the pod, so that it can be allowed. */
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

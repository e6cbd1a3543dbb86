import { NetworkError } from "./network-error.ts";

export type NamespaceKind = "net" | "ipc" | "uts";

/** Which namespace a kernel parameter belongs to; the others are the whole machine's. */
const owners: readonly (readonly [RegExp, NamespaceKind])[] = [
  [/^net\//, "net"],
  [/^kernel\/(shm|msg|sem)/, "ipc"],
  [/^fs\/mqueue\//, "ipc"],
  [/^kernel\/domainname$/, "uts"],
];

/**
 * The files below /proc/sys to write inside the namespaces. A parameter that none of them owns is refused: it would
 * change the host. `net.ipv4.conf.eth0/100.x` and `net/ipv4/conf/eth0.100/x` are the same, as in sysctl(8).
 */
export function planSysctls(
  sysctls: Readonly<Record<string, string>>,
  kinds: readonly NamespaceKind[],
): readonly (readonly [file: string, value: string])[] {
  return Object.entries(sysctls).map(([name, value]) => {
    const file = toPath(name);
    const owner = owners.find(([pattern]) => pattern.test(file))?.[1];
    if (!owner || file.split("/").includes(".."))
      throw new NetworkError("invalid", `sysctl ${name} is not one of a pod: it would change the host`);
    if (!kinds.includes(owner))
      throw new NetworkError("invalid", `sysctl ${name} needs a ${owner} namespace of the pod's own`);
    return [file, value];
  });
}

function toPath(name: string): string {
  const firstSeparator = /[./]/.exec(name)?.[0];
  if (firstSeparator === "/") return name;
  return name.replace(/[./]/g, (separator) => (separator === "." ? "/" : "."));
}

import type { PodSpec } from "../meta/objects.ts";
import { isSidecar } from "./pod-resources.ts";

export interface HostPort {
  readonly ip: string;
  /** `TCP/80`. */
  readonly port: string;
}

const anyIp = "0.0.0.0";

/** Host ports of the containers that run for the whole lifetime of the pod. */
export function readHostPorts(spec: PodSpec | undefined): readonly HostPort[] {
  const lasting = [...(spec?.initContainers ?? []).filter(isSidecar), ...(spec?.containers ?? [])];
  return lasting.flatMap(({ ports = [] }) =>
    ports
      .filter(({ hostPort }) => hostPort !== undefined && hostPort > 0)
      .map(({ hostIP, protocol, hostPort }) => ({
        ip: hostIP || anyIp,
        port: `${protocol || "TCP"}/${hostPort}`,
      })),
  );
}

/** Number of users of each host port, by IP address. */
export type UsedPorts = Map<string, Map<string, number>>;

export function usePort(used: UsedPorts, { ip, port }: HostPort, sign: 1 | -1): void {
  const holders = used.get(port) ?? new Map<string, number>();
  const count = (holders.get(ip) ?? 0) + sign;
  if (count > 0) holders.set(ip, count);
  else holders.delete(ip);
  if (holders.size > 0) used.set(port, holders);
  else used.delete(port);
}

/** A port on 0.0.0.0 conflicts with the same port on every address. */
export function isPortFree(used: UsedPorts, { ip, port }: HostPort): boolean {
  const holders = used.get(port);
  if (!holders) return true;
  return ip !== anyIp && !holders.has(ip) && !holders.has(anyIp);
}

/** Whether two pods use the same host port. */
export function sharePort(a: readonly HostPort[], b: readonly HostPort[]): boolean {
  const used: UsedPorts = new Map();
  for (const port of a) usePort(used, port, 1);
  return b.some((port) => !isPortFree(used, port));
}

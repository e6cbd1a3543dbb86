import { notRun, type ProbeOutcome, type ProbeTarget } from "./probe-handler.ts";

export type Address =
  | { readonly kind: "address"; readonly host: string; readonly port: number }
  | { readonly kind: "none"; readonly outcome: ProbeOutcome };

/** Where a probe goes: its own host or the pod's address, and a port by number or by its name in the container. */
export function findAddress(
  { host, port }: { readonly host?: string; readonly port: number | string },
  { container, ip }: ProbeTarget,
): Address {
  const number = typeof port === "number" ? port : findPort(port, container.ports ?? []);
  const name = host || ip;
  if (number === undefined)
    return { kind: "none", outcome: notRun(`port ${JSON.stringify(port)} not found`) };
  if (!(number > 0 && number < 65_536)) {
    return { kind: "none", outcome: notRun(`invalid port number: ${number}`) };
  }
  if (!name) return { kind: "none", outcome: notRun("the pod has no address yet") };
  return { kind: "address", host: name, port: number };
}

function findPort(
  portName: string,
  ports: readonly { readonly name?: string; readonly containerPort: number }[],
): number | undefined {
  return ports.find(({ name }) => name === portName)?.containerPort;
}

/** `10.0.0.7:80`, `[fd00::7]:80` */
export function joinHostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
